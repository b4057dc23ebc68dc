/*
 * VK_LAYER_CTS_hostile: a Vulkan layer that makes the driver below it misbehave as environment variables say.
 *
 * HOSTILE has the faults, separated by ';'. A fault has fields, separated by blanks:
 *
 *   call=NAME       the Vulkan call that it strikes; 'load' means loading this library, 'exit' means the end of the process
 *   do=ACTION:…     what happens instead of the call, or in addition to it: see perform(), answer_of() and the calls that lie
 *   shader=CRC      only while the code of the last created module has this CRC-32 (hexadecimal)
 *   physical=N      only for the N-th physical device, from 0 up
 *   after=NAME      only in a process that has made this call before
 *   drivers=PART    only in a process whose VK_DRIVER_FILES contains PART
 *   nth=N           only the N-th such call in a process
 *   every=N         only every N-th such call in a process
 *   skip=N          not the first N of these, whichever process makes them
 *   times=N         at most N of these, whichever process makes them
 *   from=N          only from the N-th such call in a process on
 *   since=I         only after the I-th fault has struck, in any process
 *   beside=I        only when the call that the I-th fault may strike has also begun, in any process; it waits for that call
 *
 * HOSTILE_STATE is a folder in which all processes count: 'met-I' has a byte for each call that the I-th fault may strike, 'struck-I' has
 * one for each call that it did strike.
 *
 * HOSTILE_SWEEP has one more fault, for any call of Vulkan: see every_call.h.
 */
#include <errno.h>
#include <fcntl.h>
#include <fenv.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <vulkan/vk_layer.h>
#include <vulkan/vulkan.h>

#define LAYER "VK_LAYER_CTS_hostile"
#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* ---- faults ---- */

struct fault {
    char call[96], after[96], drivers[64], action[32];
    char arguments[4][4096];
    bool has_shader, waits;
    uint32_t shader;
    long physical, nth, every, skip, times, from, since, beside, met;
    int index;
};

static struct fault faults[64];
static int fault_count;
static uint32_t current_shader;
static bool lost;
static long lost_everywhere;
static const struct fault lost_fault = {.action = "lost"};
static VkDevice open_device;
static PFN_vkDeviceWaitIdle wait_idle;

static void complain(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    fputs(LAYER ": ", stderr);
    vfprintf(stderr, format, arguments);
    fputc('\n', stderr);
    va_end(arguments);
    _exit(97);
}

static void copy(char *to, size_t size, const char *from) {
    if (strlen(from) >= size) complain("'%.40s…' is too long", from);
    strcpy(to, from);
}

static void read_action(struct fault *fault, char *text) {
    char *rest = text;
    copy(fault->action, sizeof fault->action, strsep(&rest, ":"));
    for (size_t i = 0; rest && i < COUNT(fault->arguments); i++) copy(fault->arguments[i], sizeof fault->arguments[i], strsep(&rest, ":"));
}

static void read_field(struct fault *fault, char *field) {
    char *value = strchr(field, '=');
    if (!value) complain("'%s' is no field", field);
    *value++ = 0;
    const struct { const char *name; long *number; } numbers[] = {{"physical", &fault->physical}, {"nth", &fault->nth},
        {"every", &fault->every}, {"skip", &fault->skip}, {"times", &fault->times}, {"from", &fault->from}, {"since", &fault->since},
        {"beside", &fault->beside}};
    for (size_t i = 0; i < COUNT(numbers); i++)
        if (!strcmp(field, numbers[i].name)) {
            *numbers[i].number = strtol(value, NULL, 10);
            return;
        }
    if (!strcmp(field, "call")) {
        copy(fault->call, sizeof fault->call, value);
    } else if (!strcmp(field, "drivers")) {
        copy(fault->drivers, sizeof fault->drivers, value);
    } else if (!strcmp(field, "after")) {
        copy(fault->after, sizeof fault->after, value);
        fault->waits = true;
    } else if (!strcmp(field, "do")) {
        read_action(fault, value);
    } else if (!strcmp(field, "shader")) {
        fault->has_shader = true;
        fault->shader = (uint32_t)strtoul(value, NULL, 16);
    } else {
        complain("no field '%s'", field);
    }
}

static void read_faults(void) {
    const char *text = getenv("HOSTILE");
    char *left = strdup(text ? text : ""), *beginning = left;
    for (char *one; (one = strsep(&left, ";"));) {
        struct fault *fault = &faults[fault_count];
        *fault = (struct fault){.physical = -1, .since = -1, .beside = -1, .index = fault_count};
        for (char *field; (field = strsep(&one, " "));)
            if (*field) read_field(fault, field);
        const char *drivers = getenv("VK_DRIVER_FILES");
        bool concerned = !fault->drivers[0] || (drivers && strstr(drivers, fault->drivers));
        if (!concerned) strcpy(fault->call, "(none)");
        if (fault->call[0] && ++fault_count == COUNT(faults)) complain("too many faults");
    }
    free(beginning);
}

/* Adds 'more' to a count that all processes share, and returns the new count. A single write keeps it atomic between them. */
static long count_together(const char *name, int index, size_t more) {
    const char *folder = getenv("HOSTILE_STATE");
    char path[4096];
    if (!folder) complain("HOSTILE_STATE is not set");
    snprintf(path, sizeof path, "%s/%s-%d", folder, name, index);
    int file = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0644);
    if (file < 0) complain("%s cannot be written: %s", path, strerror(errno));
    if (more && write(file, "x", more) < 0) complain("%s cannot be written: %s", path, strerror(errno));
    long length = lseek(file, 0, SEEK_END);
    close(file);
    return length;
}

/* Waits until the call of another fault has begun in some process. */
static void await_together(const struct fault *fault) {
    count_together("begun", fault->index, 1);
    while (!count_together("begun", (int)fault->beside, 0)) usleep(1000);
}

static bool is_due(struct fault *fault) {
    fault->met++;
    if (fault->nth && fault->met != fault->nth) return false;
    if (fault->every && fault->met % fault->every) return false;
    if (fault->met < fault->from || (fault->since >= 0 && !count_together("struck", (int)fault->since, 0))) return false;
    if (!fault->skip && !fault->times) return true;
    long met = count_together("met", fault->index, 1);
    return met > fault->skip && (!fault->times || met <= fault->skip + fault->times);
}

static bool may_be_lost(const char *call) {
    static const char *const calls[] = {"vkQueueSubmit", "vkWaitForFences", "vkGetFenceStatus", "vkDeviceWaitIdle", "vkQueueWaitIdle"};
    for (size_t i = 0; i < COUNT(calls); i++)
        if (!strcmp(call, calls[i])) return true;
    return false;
}

/* Returns the fault that strikes this call, or NULL. Every fault counts the call, whichever strikes. */
static const struct fault *due(const char *call, long physical) {
    const struct fault *found = NULL;
    for (int i = 0; i < fault_count; i++) {
        struct fault *fault = &faults[i];
        if (fault->waits && !strcmp(fault->after, call)) fault->waits = false;
        if (fault->waits || strcmp(fault->call, call) || (fault->physical >= 0 && fault->physical != physical)) continue;
        if (fault->has_shader && fault->shader != current_shader) continue;
        if (fault->beside >= 0) await_together(fault);
        if (is_due(fault) && !found) found = fault;
    }
    if (found) {
        count_together("struck", found->index, 1);
        return found;
    }
    if (may_be_lost(call) && (lost || count_together("lost", 0, 0) != lost_everywhere)) return &lost_fault;
    return NULL;
}

/* ---- what happens to the process ---- */

static const struct { const char *name; int number; } signals[] = {{"SEGV", SIGSEGV}, {"ABRT", SIGABRT}, {"BUS", SIGBUS}, {"ILL", SIGILL},
    {"FPE", SIGFPE}, {"KILL", SIGKILL}, {"TERM", SIGTERM}, {"PIPE", SIGPIPE}, {"ALRM", SIGALRM}, {"USR1", SIGUSR1}, {"HUP", SIGHUP},
    {"INT", SIGINT}, {"STOP", SIGSTOP}, {"TRAP", SIGTRAP}, {"XCPU", SIGXCPU}};

static int signal_of(const char *name) {
    for (size_t i = 0; i < COUNT(signals); i++)
        if (!strcmp(name, signals[i].name)) return signals[i].number;
    complain("no signal '%s'", name);
    return 0;
}

static _Noreturn void crash(void) {
    *(volatile int *)8 = 1;
    abort();
}

static _Noreturn void hang(void) {
    for (;;) pause();
}

static _Noreturn void spin(void) {
    for (volatile unsigned turns = 0;;) turns = turns + 1;
}

/* Leaves a process with every descriptor of this one. It ends by itself after a while if nobody ends it. */
static void leave_child(bool in_own_session) {
    if (fork()) return;
    if (in_own_session) setsid();
    signal(SIGALRM, SIG_DFL);
    alarm(45);
    hang();
}

static void write_everywhere(const unsigned char *bytes, size_t count) {
    for (int file = 1; file < 256; file++) {
        struct stat about;
        /* Changed files would outlast the scenario, for example the shader cache. */
        if (fstat(file, &about) || (file > 2 && S_ISREG(about.st_mode))) continue;
        int flags = fcntl(file, F_GETFL);
        fcntl(file, F_SETFL, flags | O_NONBLOCK);
        for (size_t done = 0; done < count;) {
            ssize_t written = write(file, bytes + done, count - done);
            if (written <= 0) break;
            done += (size_t)written;
        }
        fcntl(file, F_SETFL, flags);
    }
}

static void write_hexadecimal(const char *text) {
    unsigned char bytes[2048];
    size_t count = strlen(text) / 2;
    for (size_t i = 0; i < count; i++) {
        unsigned byte = 0;
        sscanf(text + 2 * i, "%2x", &byte);
        bytes[i] = (unsigned char)byte;
    }
    write_everywhere(bytes, count);
}

static void flood(long count) {
    static char block[1 << 16];
    memset(block, '#', sizeof block);
    for (long written = 0; written < count; written += 2 * (long)sizeof block)
        if (write(1, block, sizeof block) < 0 || write(2, block, sizeof block) < 0) return;
}

static void change_arithmetic(const char *how) {
#if defined(__x86_64__)
    if (!strcmp(how, "flush")) __builtin_ia32_ldmxcsr(__builtin_ia32_stmxcsr() | 0x8040);
    if (!strcmp(how, "trap")) __builtin_ia32_ldmxcsr(__builtin_ia32_stmxcsr() & ~0x0a00u);
#endif
    if (!strcmp(how, "up")) fesetround(FE_UPWARD);
    if (!strcmp(how, "zero")) fesetround(FE_TOWARDZERO);
}

/* Closes the descriptors from 'first' up to 'end' (exclusive), by default all. */
static void close_descriptors(const struct fault *fault) {
    int end = fault->arguments[1][0] ? atoi(fault->arguments[1]) : 1024;
    for (int file = atoi(fault->arguments[0]); file < end; file++) close(file);
}

static void change_memory(const struct fault *fault);
static void say(const struct fault *fault);

static void perform(const struct fault *fault) {
    const char *action = fault->action, *argument = fault->arguments[0];
    if (!strcmp(action, "crash")) crash();
    if (!strcmp(action, "raise")) raise(signal_of(argument));
    if (!strcmp(action, "hang")) hang();
    if (!strcmp(action, "spin")) spin();
    if (!strcmp(action, "sleep")) usleep((useconds_t)(1000 * atol(argument)));
    if (!strcmp(action, "exit")) exit(atoi(argument));
    if (!strcmp(action, "_exit")) _exit(atoi(argument));
    if (!strcmp(action, "fork_and_crash")) { leave_child(false); crash(); }
    if (!strcmp(action, "fork_and_exit")) { leave_child(false); _exit(0); }
    if (!strcmp(action, "fork")) leave_child(false);
    if (!strcmp(action, "escape_and_crash")) { leave_child(true); crash(); }
    if (!strcmp(action, "kill_group")) kill(0, signal_of(argument));
    if (!strcmp(action, "write")) write_hexadecimal(argument);
    if (!strcmp(action, "write_and_hang")) { write_hexadecimal(argument); hang(); }
    if (!strcmp(action, "flood")) flood(atol(argument));
    if (!strcmp(action, "flood_and_crash")) { flood(atol(argument)); crash(); }
    if (!strcmp(action, "close")) close_descriptors(fault);
    if (!strcmp(action, "close_and_hang")) { close_descriptors(fault); hang(); }
    if (!strcmp(action, "arithmetic")) change_arithmetic(argument);
    if (!strncmp(action, "say", 3)) say(fault);
    if (!strcmp(action, "say_and_crash")) crash();
    if (!strcmp(action, "lost")) lost = true;
    if (!strcmp(action, "lost_everywhere")) { count_together("lost", 0, 1); lost = true; }
}

/* ---- answers without the driver ---- */

static const struct { const char *name; VkResult result; } results[] = {
#define RESULT(name) {#name, name}
    RESULT(VK_SUCCESS), RESULT(VK_NOT_READY), RESULT(VK_TIMEOUT), RESULT(VK_EVENT_SET), RESULT(VK_EVENT_RESET), RESULT(VK_INCOMPLETE),
    RESULT(VK_SUBOPTIMAL_KHR), RESULT(VK_PIPELINE_COMPILE_REQUIRED), RESULT(VK_OPERATION_DEFERRED_KHR), RESULT(VK_THREAD_IDLE_KHR),
    RESULT(VK_ERROR_OUT_OF_HOST_MEMORY), RESULT(VK_ERROR_OUT_OF_DEVICE_MEMORY), RESULT(VK_ERROR_INITIALIZATION_FAILED),
    RESULT(VK_ERROR_DEVICE_LOST), RESULT(VK_ERROR_MEMORY_MAP_FAILED), RESULT(VK_ERROR_LAYER_NOT_PRESENT),
    RESULT(VK_ERROR_EXTENSION_NOT_PRESENT), RESULT(VK_ERROR_FEATURE_NOT_PRESENT), RESULT(VK_ERROR_INCOMPATIBLE_DRIVER),
    RESULT(VK_ERROR_TOO_MANY_OBJECTS), RESULT(VK_ERROR_FORMAT_NOT_SUPPORTED), RESULT(VK_ERROR_FRAGMENTED_POOL), RESULT(VK_ERROR_UNKNOWN),
    RESULT(VK_ERROR_OUT_OF_POOL_MEMORY), RESULT(VK_ERROR_FRAGMENTATION), RESULT(VK_ERROR_INVALID_EXTERNAL_HANDLE),
    RESULT(VK_ERROR_INVALID_SHADER_NV), RESULT(VK_ERROR_NOT_PERMITTED_KHR),
#undef RESULT
};

/* Returns whether the call answers without the driver, and sets its result. It does for 'result:NAME', for 'lost', for 'say_and_refuse', and
 * for 'null', which is success without a handle. */
static bool answer_of(const struct fault *fault, VkResult *result) {
    if (!strcmp(fault->action, "null")) {
        *result = VK_SUCCESS;
        return true;
    }
    if (!strcmp(fault->action, "lost") || !strcmp(fault->action, "lost_everywhere")) {
        *result = VK_ERROR_DEVICE_LOST;
        return true;
    }
    if (!strcmp(fault->action, "say_and_refuse")) {
        *result = VK_ERROR_UNKNOWN;
        return true;
    }
    if (strcmp(fault->action, "result")) return false;
    for (size_t i = 0; i < COUNT(results); i++)
        if (!strcmp(fault->arguments[0], results[i].name)) {
            *result = results[i].result;
            return true;
        }
    /* The argument may be a number that no version of Vulkan knows. */
    *result = (VkResult)strtol(fault->arguments[0], NULL, 0);
    return true;
}

/* A lost device runs nothing more, so its resources may be freed at once. But the driver below still runs the submitted work. */
static void end_submitted_work(void) {
    if (wait_idle) wait_idle(open_device);
}

/* ---- calls ---- */

struct call {
    const char *name;
    PFN_vkVoidFunction ours, next;
    struct call *following;
};

static struct call *calls;

#define CALL(function)                                                                                                                     \
    static struct call call_##function = {.name = #function};                                                                              \
    __attribute__((constructor)) static void add_##function(void) {                                                                        \
        call_##function.ours = (PFN_vkVoidFunction)our_##function;                                                                         \
        call_##function.following = calls;                                                                                                 \
        calls = &call_##function;                                                                                                          \
    }
#define NEXT(name) ((PFN_##name)call_##name.next)

/* A call with a result; 'clear' clears the handles that it would have created. */
#define RESULT_CALL(name, parameters, arguments, clear)                                                                                    \
    static VKAPI_ATTR VkResult VKAPI_CALL our_##name parameters;                                                                           \
    CALL(name)                                                                                                                             \
    static VKAPI_ATTR VkResult VKAPI_CALL our_##name parameters {                                                                          \
        const struct fault *fault = due(#name, -1);                                                                                        \
        VkResult result;                                                                                                                   \
        if (fault) perform(fault);                                                                                                         \
        if (fault) change_memory(fault);                                                                                                   \
        if (fault && answer_of(fault, &result)) {                                                                                          \
            if (result == VK_ERROR_DEVICE_LOST) end_submitted_work();                                                                      \
            clear;                                                                                                                         \
            return result;                                                                                                                 \
        }                                                                                                                                  \
        return NEXT(name) arguments;                                                                                                       \
    }

#define VOID_CALL(name, parameters, arguments)                                                                                             \
    static VKAPI_ATTR void VKAPI_CALL our_##name parameters;                                                                               \
    CALL(name)                                                                                                                             \
    static VKAPI_ATTR void VKAPI_CALL our_##name parameters {                                                                              \
        const struct fault *fault = due(#name, -1);                                                                                        \
        if (fault) perform(fault);                                                                                                         \
        if (fault) change_memory(fault);                                                                                                   \
        NEXT(name) arguments;                                                                                                              \
    }

#define CREATE_CALL(name, info_type, handle_type)                                                                                          \
    RESULT_CALL(name, (VkDevice device, const info_type *info, const VkAllocationCallbacks *allocator, handle_type *handle),               \
                (device, info, allocator, handle), *handle = VK_NULL_HANDLE)

#define DESTROY_CALL(name, handle_type)                                                                                                    \
    VOID_CALL(name, (VkDevice device, handle_type handle, const VkAllocationCallbacks *allocator), (device, handle, allocator))

CREATE_CALL(vkCreateBuffer, VkBufferCreateInfo, VkBuffer)
CREATE_CALL(vkCreateCommandPool, VkCommandPoolCreateInfo, VkCommandPool)
CREATE_CALL(vkCreateDescriptorPool, VkDescriptorPoolCreateInfo, VkDescriptorPool)
CREATE_CALL(vkCreateDescriptorSetLayout, VkDescriptorSetLayoutCreateInfo, VkDescriptorSetLayout)
CREATE_CALL(vkCreateFence, VkFenceCreateInfo, VkFence)
CREATE_CALL(vkCreatePipelineLayout, VkPipelineLayoutCreateInfo, VkPipelineLayout)
CREATE_CALL(vkAllocateMemory, VkMemoryAllocateInfo, VkDeviceMemory)
DESTROY_CALL(vkDestroyBuffer, VkBuffer)
DESTROY_CALL(vkDestroyCommandPool, VkCommandPool)
DESTROY_CALL(vkDestroyDescriptorPool, VkDescriptorPool)
DESTROY_CALL(vkDestroyDescriptorSetLayout, VkDescriptorSetLayout)
DESTROY_CALL(vkDestroyFence, VkFence)
DESTROY_CALL(vkDestroyPipeline, VkPipeline)
DESTROY_CALL(vkDestroyPipelineLayout, VkPipelineLayout)
DESTROY_CALL(vkDestroyShaderModule, VkShaderModule)
DESTROY_CALL(vkFreeMemory, VkDeviceMemory)
RESULT_CALL(vkAllocateCommandBuffers, (VkDevice device, const VkCommandBufferAllocateInfo *info, VkCommandBuffer *buffers),
            (device, info, buffers), *buffers = VK_NULL_HANDLE)
RESULT_CALL(vkAllocateDescriptorSets, (VkDevice device, const VkDescriptorSetAllocateInfo *info, VkDescriptorSet *sets),
            (device, info, sets), memset(sets, 0, info->descriptorSetCount * sizeof *sets))
RESULT_CALL(vkResetDescriptorPool, (VkDevice device, VkDescriptorPool pool, VkDescriptorPoolResetFlags flags), (device, pool, flags), )
RESULT_CALL(vkResetCommandPool, (VkDevice device, VkCommandPool pool, VkCommandPoolResetFlags flags), (device, pool, flags), )
RESULT_CALL(vkResetCommandBuffer, (VkCommandBuffer buffer, VkCommandBufferResetFlags flags), (buffer, flags), )
RESULT_CALL(vkBeginCommandBuffer, (VkCommandBuffer buffer, const VkCommandBufferBeginInfo *info), (buffer, info), )
RESULT_CALL(vkEndCommandBuffer, (VkCommandBuffer buffer), (buffer), )
RESULT_CALL(vkResetFences, (VkDevice device, uint32_t count, const VkFence *fences), (device, count, fences), )
RESULT_CALL(vkGetFenceStatus, (VkDevice device, VkFence fence), (device, fence), )
RESULT_CALL(vkDeviceWaitIdle, (VkDevice device), (device), )
RESULT_CALL(vkQueueWaitIdle, (VkQueue queue), (queue), )
/* 'nothing' signals the fence and runs nothing. */
RESULT_CALL(vkQueueSubmit, (VkQueue queue, uint32_t count, const VkSubmitInfo *submits, VkFence fence),
            (queue, fault && !strcmp(fault->action, "nothing") ? 0 : count, submits, fence), )
RESULT_CALL(vkCreateComputePipelines,
            (VkDevice device, VkPipelineCache cache, uint32_t count, const VkComputePipelineCreateInfo *infos,
             const VkAllocationCallbacks *allocator, VkPipeline *pipelines),
            (device, cache, count, infos, allocator, pipelines), memset(pipelines, 0, count * sizeof *pipelines))
VOID_CALL(vkCmdBindPipeline, (VkCommandBuffer buffer, VkPipelineBindPoint point, VkPipeline pipeline), (buffer, point, pipeline))
VOID_CALL(vkCmdDispatch, (VkCommandBuffer buffer, uint32_t x, uint32_t y, uint32_t z), (buffer, x, y, z))
VOID_CALL(vkGetDeviceQueue, (VkDevice device, uint32_t family, uint32_t index, VkQueue *queue), (device, family, index, queue))
static VKAPI_ATTR void VKAPI_CALL our_vkDestroyDevice(VkDevice device, const VkAllocationCallbacks *allocator);
CALL(vkDestroyDevice)
static VKAPI_ATTR void VKAPI_CALL our_vkDestroyDevice(VkDevice device, const VkAllocationCallbacks *allocator) {
    const struct fault *fault = due("vkDestroyDevice", -1);
    if (fault) perform(fault);
    wait_idle = NULL;
    NEXT(vkDestroyDevice)(device, allocator);
}
VOID_CALL(vkDestroyInstance, (VkInstance instance, const VkAllocationCallbacks *allocator), (instance, allocator))

#include "shaders_and_memory.h"
#include "lies.h"
#include "every_call.h"

/* ---- the chain of layers ---- */

static PFN_vkGetInstanceProcAddr next_instance_address;
static PFN_vkGetDeviceProcAddr next_device_address;
static VkInstance open_instance;

/* 'say:KIND:TEXT:TIMES' sends a message through VK_EXT_debug_utils, TIMES times with a number after it; an underscore is a blank. */
static void say(const struct fault *fault) {
    const char *kind = fault->arguments[0];
    char words[4096 + 16];
    PFN_vkSubmitDebugUtilsMessageEXT submit =
        (PFN_vkSubmitDebugUtilsMessageEXT)next_instance_address(open_instance, "vkSubmitDebugUtilsMessageEXT");
    if (!submit) complain("vkSubmitDebugUtilsMessageEXT is missing: nobody listens");
    long times = fault->arguments[2][0] ? atol(fault->arguments[2]) : 1;
    for (long number = 0; number < times; number++) {
        snprintf(words, sizeof words, times > 1 ? "%s_%ld" : "%s", fault->arguments[1], number);
        for (char *one = words; *one; one++)
            if (*one == '_') *one = ' ';
        VkDebugUtilsMessengerCallbackDataEXT data = {.sType = VK_STRUCTURE_TYPE_DEBUG_UTILS_MESSENGER_CALLBACK_DATA_EXT,
            .pMessageIdName = strcmp(kind, "loader") ? LAYER : "Loader Message", .pMessage = words};
        submit(open_instance, VK_DEBUG_UTILS_MESSAGE_SEVERITY_ERROR_BIT_EXT,
            strcmp(kind, "performance") ? VK_DEBUG_UTILS_MESSAGE_TYPE_GENERAL_BIT_EXT : VK_DEBUG_UTILS_MESSAGE_TYPE_PERFORMANCE_BIT_EXT, &data);
    }
}

#define CHAIN_LINK(type, s_type, info)                                                                                                     \
    type *link = (type *)(uintptr_t)(info)->pNext;                                                                                         \
    while (link && !(link->sType == (s_type) && link->function == VK_LAYER_LINK_INFO)) link = (type *)(uintptr_t)link->pNext;              \
    if (!link) return VK_ERROR_INITIALIZATION_FAILED

static VKAPI_ATTR VkResult VKAPI_CALL our_vkCreateInstance(const VkInstanceCreateInfo *info, const VkAllocationCallbacks *allocator,
                                                          VkInstance *instance) {
    const struct fault *fault = due("vkCreateInstance", -1);
    VkResult result;
    CHAIN_LINK(VkLayerInstanceCreateInfo, VK_STRUCTURE_TYPE_LOADER_INSTANCE_CREATE_INFO, info);
    next_instance_address = link->u.pLayerInfo->pfnNextGetInstanceProcAddr;
    link->u.pLayerInfo = link->u.pLayerInfo->pNext;
    if (fault) perform(fault);
    if (fault && answer_of(fault, &result)) return result;
    PFN_vkCreateInstance create = (PFN_vkCreateInstance)next_instance_address(VK_NULL_HANDLE, "vkCreateInstance");
    result = create(info, allocator, instance);
    open_instance = *instance;
    return result;
}

static VKAPI_ATTR VkResult VKAPI_CALL our_vkCreateDevice(VkPhysicalDevice physical, const VkDeviceCreateInfo *info,
                                                        const VkAllocationCallbacks *allocator, VkDevice *device) {
    const struct fault *fault = due("vkCreateDevice", number_of(physical));
    VkResult result;
    CHAIN_LINK(VkLayerDeviceCreateInfo, VK_STRUCTURE_TYPE_LOADER_DEVICE_CREATE_INFO, info);
    next_device_address = link->u.pLayerInfo->pfnNextGetDeviceProcAddr;
    PFN_vkCreateDevice create = (PFN_vkCreateDevice)next_instance_address(VK_NULL_HANDLE, "vkCreateDevice");
    link->u.pLayerInfo = link->u.pLayerInfo->pNext;
    if (fault) perform(fault);
    if (fault && answer_of(fault, &result)) return result;
    lost = false;
    lost_everywhere = count_together("lost", 0, 0);
    result = create(physical, info, allocator, device);
    if (result != VK_SUCCESS) return result;
    open_device = *device;
    wait_idle = (PFN_vkDeviceWaitIdle)next_device_address(open_device, "vkDeviceWaitIdle");
    return result;
}

static struct call *find(const char *name) {
    for (struct call *call = calls; call; call = call->following)
        if (!strcmp(call->name, name)) return call;
    return NULL;
}

static VKAPI_ATTR PFN_vkVoidFunction VKAPI_CALL device_address(VkDevice device, const char *name) {
    if (!strcmp(name, "vkGetDeviceProcAddr")) return (PFN_vkVoidFunction)device_address;
    struct call *call = find(name);
    PFN_vkVoidFunction next = next_device_address(device, name);
    if (!call || !next) return traced(name, next, true);
    call->next = next;
    return traced(name, call->ours, true);
}

static VKAPI_ATTR PFN_vkVoidFunction VKAPI_CALL instance_address(VkInstance instance, const char *name) {
    if (!strcmp(name, "vkGetInstanceProcAddr")) return (PFN_vkVoidFunction)instance_address;
    if (!strcmp(name, "vkGetDeviceProcAddr")) return (PFN_vkVoidFunction)device_address;
    if (!strcmp(name, "vkCreateInstance")) return traced(name, (PFN_vkVoidFunction)our_vkCreateInstance, false);
    if (!strcmp(name, "vkCreateDevice")) return traced(name, (PFN_vkVoidFunction)our_vkCreateDevice, false);
    if (!next_instance_address || !instance) return NULL;
    struct call *call = find(name);
    PFN_vkVoidFunction next = next_instance_address(instance, name);
    if (!call || !next) return traced(name, next, false);
    if (!call->next) call->next = next;
    return traced(name, call->ours, false);
}

__attribute__((visibility("default"))) VKAPI_ATTR VkResult VKAPI_CALL vkNegotiateLoaderLayerInterfaceVersion(VkNegotiateLayerInterface *negotiation) {
    negotiation->loaderLayerInterfaceVersion = 2;
    negotiation->pfnGetInstanceProcAddr = instance_address;
    negotiation->pfnGetDeviceProcAddr = device_address;
    negotiation->pfnGetPhysicalDeviceProcAddr = NULL;
    return VK_SUCCESS;
}

/* ---- loading and the end ---- */

__attribute__((constructor)) static void begin(void) {
    read_faults();
    begin_sweep();
    const struct fault *fault = due("load", -1);
    if (fault) perform(fault);
}

/* The library stays until the process ends (-z nodelete), so its destructor runs at exit. */
__attribute__((destructor)) static void end(void) {
    const struct fault *fault = due("exit", -1);
    if (fault) perform(fault);
}
