/* One fault in any call of Vulkan, and a trace of all calls. The environment variable HOSTILE_SWEEP has the fault; if it is empty, calls are
 * only traced. HOSTILE_STATE/trace has a line for each call, in the order of all processes; ' !' follows if the fault struck the call.
 *
 * Besides the actions of layer.c, 'nothing' returns VK_SUCCESS (0, null) and does nothing; 'late_writes:MS' lets a submission end with
 * everything that it writes still missing, and writes it after so many milliseconds. */

static bool sweeps;
static struct fault swept = {.physical = -1, .since = -1, .beside = -1};
static int trace_file = -1;

static void begin_sweep(void) {
    const char *text = getenv("HOSTILE_SWEEP"), *folder = getenv("HOSTILE_STATE");
    char path[4096];
    if (!text) return;
    if (!folder) complain("HOSTILE_STATE is not set");
    sweeps = true;
    char *copied = strdup(text), *left = copied;
    for (char *field; (field = strsep(&left, " "));)
        if (*field) read_field(&swept, field);
    free(copied);
    snprintf(path, sizeof path, "%s/trace", folder);
    trace_file = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0644);
    if (trace_file < 0) complain("%s cannot be written: %s", path, strerror(errno));
}

static void trace(const char *call, bool strikes) {
    char line[128];
    int length = snprintf(line, sizeof line, "%s%s\n", call, strikes ? " !" : "");
    if (write(trace_file, line, (size_t)length) < 0) complain("the trace cannot be written: %s", strerror(errno));
}

/* ---- writes that come late ---- */

static struct { VkDeviceMemory memory; unsigned char *bytes, *before, *after; size_t size; } late[COUNT(maps)];
static size_t late_count;
static pthread_mutex_t late_lock = PTHREAD_MUTEX_INITIALIZER;

static void write_late(void) {
    pthread_mutex_lock(&late_lock);
    for (size_t i = 0; i < late_count; i++) {
        for (size_t j = 0; j < late[i].size; j++)
            if (late[i].before[j] != late[i].after[j]) late[i].bytes[j] = late[i].after[j];
        free(late[i].before);
        free(late[i].after);
    }
    late_count = 0;
    pthread_mutex_unlock(&late_lock);
}

static void *write_later(void *milliseconds) {
    usleep((useconds_t)(1000 * (uintptr_t)milliseconds));
    write_late();
    return NULL;
}

static unsigned char *copy_of(const unsigned char *bytes, size_t size) {
    unsigned char *copied = malloc(size);
    if (!copied) complain("no memory");
    return memcpy(copied, bytes, size);
}

static void submit_late(VkQueue queue, uint32_t count, const VkSubmitInfo *submits, VkFence fence, long milliseconds) {
    write_late();
    pthread_mutex_lock(&late_lock);
    for (size_t i = 0; i < map_count; i++) {
        late[i].memory = maps[i].memory;
        late[i].bytes = maps[i].bytes;
        late[i].size = maps[i].size;
        late[i].before = copy_of(maps[i].bytes, maps[i].size);
    }
    late_count = map_count;
    NEXT(vkQueueSubmit)(queue, count, submits, fence);
    wait_idle(open_device);
    for (size_t i = 0; i < late_count; i++) {
        late[i].after = copy_of(late[i].bytes, late[i].size);
        memcpy(late[i].bytes, late[i].before, late[i].size);
    }
    pthread_mutex_unlock(&late_lock);
    pthread_t thread;
    if (pthread_create(&thread, NULL, write_later, (void *)(uintptr_t)milliseconds)) complain("no thread");
    pthread_detach(thread);
}

/* A device that is idle has written everything; so has one whose memory is freed. */
static void end_late_writes(const char *call, uint64_t memory) {
    static const char *const ends[] = {"vkDeviceWaitIdle", "vkQueueWaitIdle", "vkUnmapMemory", "vkFreeMemory", "vkDestroyDevice"};
    for (size_t i = 0; i < COUNT(ends); i++)
        if (!strcmp(call, ends[i])) write_late();
    if (strcmp(call, "vkUnmapMemory") && strcmp(call, "vkFreeMemory")) return;
    for (size_t i = map_count; i-- > 0;)
        if ((uint64_t)(uintptr_t)maps[i].memory == memory) maps[i] = maps[--map_count];
}

/* ---- a function for every call ---- */

/* The arguments of any call of Vulkan: all are integers or pointers, except for a few state commands that the suite does not use. A function
 * ignores the arguments that it does not have. */
#define PARAMETERS                                                                                                                         \
    uint64_t a, uint64_t b, uint64_t c, uint64_t d, uint64_t e, uint64_t f, uint64_t g, uint64_t h, uint64_t i, uint64_t j, uint64_t k
#define ARGUMENTS a, b, c, d, e, f, g, h, i, j, k
typedef uint64_t (*any_call)(PARAMETERS);

static struct { char name[96]; PFN_vkVoidFunction next; bool of_device; } slots[900];
static size_t slot_count;

static uint64_t pass(size_t number, PARAMETERS) {
    const char *name = slots[number].name;
    bool strikes = !strcmp(swept.call, name) && is_due(&swept);
    trace(name, strikes);
    end_late_writes(name, b);
    if (strikes) {
        VkResult result;
        perform(&swept);
        if (!strcmp(swept.action, "nothing")) return 0;
        if (!strcmp(swept.action, "late_writes")) {
            submit_late((VkQueue)(uintptr_t)a, (uint32_t)b, (const VkSubmitInfo *)(uintptr_t)c, (VkFence)d, atol(swept.arguments[0]));
            return 0;
        }
        if (answer_of(&swept, &result)) {
            if (result == VK_ERROR_DEVICE_LOST) end_submitted_work();
            return (uint64_t)(int64_t)result;
        }
    }
    return ((any_call)slots[number].next)(ARGUMENTS);
}

#define SLOT(n) static uint64_t slot_##n(PARAMETERS) { return pass(n - 100, ARGUMENTS); }
#define TEN(in, n) in(n##0) in(n##1) in(n##2) in(n##3) in(n##4) in(n##5) in(n##6) in(n##7) in(n##8) in(n##9)
#define HUNDRED(in, n) TEN(in, n##0) TEN(in, n##1) TEN(in, n##2) TEN(in, n##3) TEN(in, n##4)                                               \
    TEN(in, n##5) TEN(in, n##6) TEN(in, n##7) TEN(in, n##8) TEN(in, n##9)
#define ALL(in) HUNDRED(in, 1) HUNDRED(in, 2) HUNDRED(in, 3) HUNDRED(in, 4) HUNDRED(in, 5)                                                 \
    HUNDRED(in, 6) HUNDRED(in, 7) HUNDRED(in, 8) HUNDRED(in, 9)
#define NAME_OF_SLOT(n) slot_##n,
ALL(SLOT)
static const any_call slot_functions[] = {ALL(NAME_OF_SLOT)};

/* Returns a function that traces a call and then makes it. A device's own function replaces the instance's. */
static PFN_vkVoidFunction traced(const char *name, PFN_vkVoidFunction next, bool of_device) {
    size_t number = 0;
    if (!sweeps || !next) return next;
    while (number < slot_count && strcmp(slots[number].name, name)) number++;
    if (number == slot_count) {
        if (++slot_count > COUNT(slots)) complain("too many calls");
        copy(slots[number].name, sizeof slots[number].name, name);
    }
    if (of_device || !slots[number].of_device) slots[number].next = next;
    slots[number].of_device |= of_device;
    return (PFN_vkVoidFunction)slot_functions[number];
}
