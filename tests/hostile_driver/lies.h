/* Queries that do not tell the truth: 'lie:WHAT', with the lies that each of them can tell. */

static bool lies(const struct fault *fault, const char *what) {
    return fault && !strcmp(fault->action, "lie") && !strcmp(fault->arguments[0], what);
}

static VkPhysicalDevice physical_devices[16];
static size_t physical_count;

/* The number of a physical device, in the order in which the driver reported them. */
static long number_of(VkPhysicalDevice device) {
    for (size_t i = 0; i < physical_count; i++)
        if (physical_devices[i] == device) return (long)i;
    return -1;
}

/* A query of an array that lies about its count. 'growing' reports one entry more each time and never fits; 'incomplete' returns all
 * entries and says that there are more; 'changing' drops an entry between the query of the count and the query of the entries; 'huge'
 * reports a count that does not fit in memory; 'none' reports no entries; 'beyond' reports more entries than the array has room for. */
#define LIE_ABOUT_COUNT(fault, count, array, query)                                                                                        \
    do {                                                                                                                                   \
        static uint32_t grown;                                                                                                             \
        if (lies(fault, "none")) {                                                                                                         \
            *(count) = 0;                                                                                                                  \
            return VK_SUCCESS;                                                                                                             \
        }                                                                                                                                  \
        if (lies(fault, "huge")) {                                                                                                         \
            if (array) return VK_INCOMPLETE;                                                                                               \
            *(count) = 0xfffffff0u;                                                                                                        \
            return VK_SUCCESS;                                                                                                             \
        }                                                                                                                                  \
        VkResult lied = query;                                                                                                             \
        if (lied != VK_SUCCESS) return lied;                                                                                               \
        if (lies(fault, "growing")) {                                                                                                      \
            *(count) += array ? 0 : ++grown;                                                                                               \
            return array ? VK_INCOMPLETE : VK_SUCCESS;                                                                                     \
        }                                                                                                                                  \
        if (lies(fault, "incomplete") && array) return VK_INCOMPLETE;                                                                      \
        if (lies(fault, "changing") && array && *(count)) *(count) -= 1;                                                                   \
        if (lies(fault, "beyond") && array) *(count) += 1000000;                                                                           \
        return lied;                                                                                                                       \
    } while (0)

#define COUNTED_CALL(name, parameters, count, array, device, query)                                                                        \
    static VKAPI_ATTR VkResult VKAPI_CALL our_##name parameters;                                                                           \
    CALL(name)                                                                                                                             \
    static VKAPI_ATTR VkResult VKAPI_CALL our_##name parameters {                                                                          \
        const struct fault *fault = due(#name, device);                                                                                    \
        VkResult result;                                                                                                                   \
        if (fault) perform(fault);                                                                                                         \
        if (fault && answer_of(fault, &result)) return result;                                                                             \
        LIE_ABOUT_COUNT(fault, count, array, query);                                                                                       \
    }

COUNTED_CALL(vkEnumerateDeviceExtensionProperties,
             (VkPhysicalDevice device, const char *layer, uint32_t *count, VkExtensionProperties *properties), count, properties,
             number_of(device), NEXT(vkEnumerateDeviceExtensionProperties)(device, layer, count, properties))
COUNTED_CALL(vkGetPhysicalDeviceCooperativeMatrixPropertiesKHR,
             (VkPhysicalDevice device, uint32_t *count, VkCooperativeMatrixPropertiesKHR *properties), count, properties,
             number_of(device), NEXT(vkGetPhysicalDeviceCooperativeMatrixPropertiesKHR)(device, count, properties))

static VkResult ask_physical_devices(VkInstance instance, uint32_t *count, VkPhysicalDevice *devices);
COUNTED_CALL(vkEnumeratePhysicalDevices, (VkInstance instance, uint32_t *count, VkPhysicalDevice *devices), count, devices, -1,
             ask_physical_devices(instance, count, devices))

static VkResult ask_physical_devices(VkInstance instance, uint32_t *count, VkPhysicalDevice *devices) {
    VkResult result = NEXT(vkEnumeratePhysicalDevices)(instance, count, devices);
    for (uint32_t i = 0; devices && result >= 0 && i < *count && i < COUNT(physical_devices); i++) physical_devices[i] = devices[i];
    if (devices && result >= 0) physical_count = *count < COUNT(physical_devices) ? *count : COUNT(physical_devices);
    return result;
}

static void lie_about_name(const struct fault *fault, char *name, size_t size) {
    if (lies(fault, "not_utf8")) memcpy(name, "ll\xff\xfe\xc3\x28vmpipe\x80", 14);
    if (lies(fault, "control")) strcpy(name, "llvmpipe\x1b[31m\x1b]0;title\a\r\nPASSED\x9b\x7f\b");
    if (lies(fault, "empty_name")) name[0] = 0;
    if (lies(fault, "endless_name")) memset(name, 'x', size);
    if (lies(fault, "markup")) strcpy(name, "llvmpipe <script>alert(1)</script> | `x` & ]]> \"'");
}

static void lie_about_limits(const struct fault *fault, VkPhysicalDeviceLimits *limits) {
    if (lies(fault, "zero_limits")) memset(limits, 0, sizeof *limits);
    if (lies(fault, "huge_limits")) memset(limits, 0xff, sizeof *limits);
}

static void lie_about_properties(const struct fault *fault, VkPhysicalDeviceProperties *properties) {
    lie_about_name(fault, properties->deviceName, sizeof properties->deviceName);
    lie_about_limits(fault, &properties->limits);
    if (lies(fault, "version")) properties->apiVersion = 0xffffffffu;
    if (lies(fault, "old")) properties->apiVersion = VK_MAKE_API_VERSION(0, 1, 0, 0);
    if (lies(fault, "all_ones")) memset(properties, 0xff, sizeof *properties);
}

static VKAPI_ATTR void VKAPI_CALL our_vkGetPhysicalDeviceProperties(VkPhysicalDevice, VkPhysicalDeviceProperties *);
CALL(vkGetPhysicalDeviceProperties)
static VKAPI_ATTR void VKAPI_CALL our_vkGetPhysicalDeviceProperties(VkPhysicalDevice device, VkPhysicalDeviceProperties *properties) {
    const struct fault *fault = due("vkGetPhysicalDeviceProperties", number_of(device));
    if (fault) perform(fault);
    NEXT(vkGetPhysicalDeviceProperties)(device, properties);
    lie_about_properties(fault, properties);
}

static VKAPI_ATTR void VKAPI_CALL our_vkGetPhysicalDeviceProperties2(VkPhysicalDevice, VkPhysicalDeviceProperties2 *);
CALL(vkGetPhysicalDeviceProperties2)
static VKAPI_ATTR void VKAPI_CALL our_vkGetPhysicalDeviceProperties2(VkPhysicalDevice device, VkPhysicalDeviceProperties2 *properties) {
    const struct fault *fault = due("vkGetPhysicalDeviceProperties2", number_of(device));
    if (fault) perform(fault);
    NEXT(vkGetPhysicalDeviceProperties2)(device, properties);
    lie_about_properties(fault, &properties->properties);
    for (VkBaseOutStructure *node = properties->pNext; node; node = node->pNext) {
        if (node->sType == VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_PROPERTIES) {
            VkPhysicalDeviceVulkan12Properties *driver = (VkPhysicalDeviceVulkan12Properties *)node;
            lie_about_name(fault, driver->driverName, sizeof driver->driverName);
            lie_about_name(fault, driver->driverInfo, sizeof driver->driverInfo);
        }
        if (node->sType == VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_1_PROPERTIES && lies(fault, "no_subgroups"))
            ((VkPhysicalDeviceVulkan11Properties *)node)->subgroupSize = 0;
    }
}

static VKAPI_ATTR void VKAPI_CALL our_vkGetPhysicalDeviceFeatures2(VkPhysicalDevice, VkPhysicalDeviceFeatures2 *);
CALL(vkGetPhysicalDeviceFeatures2)
static VKAPI_ATTR void VKAPI_CALL our_vkGetPhysicalDeviceFeatures2(VkPhysicalDevice device, VkPhysicalDeviceFeatures2 *features) {
    const struct fault *fault = due("vkGetPhysicalDeviceFeatures2", number_of(device));
    if (fault) perform(fault);
    NEXT(vkGetPhysicalDeviceFeatures2)(device, features);
    for (VkBaseOutStructure *node = features->pNext; node; node = node->pNext)
        if (node->sType == VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_COOPERATIVE_MATRIX_FEATURES_KHR && lies(fault, "no_matrices"))
            ((VkPhysicalDeviceCooperativeMatrixFeaturesKHR *)node)->cooperativeMatrix = VK_FALSE;
}

static VKAPI_ATTR void VKAPI_CALL our_vkGetPhysicalDeviceMemoryProperties(VkPhysicalDevice, VkPhysicalDeviceMemoryProperties *);
CALL(vkGetPhysicalDeviceMemoryProperties)
static VKAPI_ATTR void VKAPI_CALL our_vkGetPhysicalDeviceMemoryProperties(VkPhysicalDevice device, VkPhysicalDeviceMemoryProperties *memory) {
    const struct fault *fault = due("vkGetPhysicalDeviceMemoryProperties", number_of(device));
    if (fault) perform(fault);
    NEXT(vkGetPhysicalDeviceMemoryProperties)(device, memory);
    if (lies(fault, "none")) memset(memory, 0, sizeof *memory);
    if (lies(fault, "huge")) memory->memoryTypeCount = 0xfffffff0u;
}

static VKAPI_ATTR void VKAPI_CALL our_vkGetPhysicalDeviceQueueFamilyProperties(VkPhysicalDevice, uint32_t *, VkQueueFamilyProperties *);
CALL(vkGetPhysicalDeviceQueueFamilyProperties)
static VKAPI_ATTR void VKAPI_CALL our_vkGetPhysicalDeviceQueueFamilyProperties(VkPhysicalDevice device, uint32_t *count,
                                                                              VkQueueFamilyProperties *families) {
    const struct fault *fault = due("vkGetPhysicalDeviceQueueFamilyProperties", number_of(device));
    if (fault) perform(fault);
    NEXT(vkGetPhysicalDeviceQueueFamilyProperties)(device, count, families);
    if (lies(fault, "none")) *count = 0;
    if (lies(fault, "huge")) *count = 0xfffffff0u;
    for (uint32_t i = 0; lies(fault, "no_compute") && families && i < *count; i++) families[i].queueFlags &= ~(VkFlags)VK_QUEUE_COMPUTE_BIT;
}

static VKAPI_ATTR void VKAPI_CALL our_vkGetBufferMemoryRequirements(VkDevice, VkBuffer, VkMemoryRequirements *);
CALL(vkGetBufferMemoryRequirements)
static VKAPI_ATTR void VKAPI_CALL our_vkGetBufferMemoryRequirements(VkDevice device, VkBuffer buffer, VkMemoryRequirements *needed) {
    const struct fault *fault = due("vkGetBufferMemoryRequirements", -1);
    if (fault) perform(fault);
    NEXT(vkGetBufferMemoryRequirements)(device, buffer, needed);
    if (lies(fault, "none")) needed->memoryTypeBits = 0;
    if (lies(fault, "huge")) needed->size = (VkDeviceSize)1 << 60;
}

static VKAPI_ATTR VkDeviceAddress VKAPI_CALL our_vkGetBufferDeviceAddress(VkDevice, const VkBufferDeviceAddressInfo *);
CALL(vkGetBufferDeviceAddress)
static VKAPI_ATTR VkDeviceAddress VKAPI_CALL our_vkGetBufferDeviceAddress(VkDevice device, const VkBufferDeviceAddressInfo *info) {
    const struct fault *fault = due("vkGetBufferDeviceAddress", -1);
    if (fault) perform(fault);
    if (lies(fault, "none")) return 0;
    return NEXT(vkGetBufferDeviceAddress)(device, info);
}
