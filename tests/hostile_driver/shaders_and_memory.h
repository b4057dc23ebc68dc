/* The last shader that the driver got, and the places of buffers in the memory that it shares with the host. */

static uint32_t crc32_of(const unsigned char *bytes, size_t count) {
    uint32_t crc = ~0u;
    for (size_t i = 0; i < count; i++) {
        crc ^= bytes[i];
        for (int bit = 0; bit < 8; bit++) crc = crc >> 1 ^ (crc & 1 ? 0xedb88320u : 0);
    }
    return ~crc;
}

static VKAPI_ATTR VkResult VKAPI_CALL our_vkCreateShaderModule(VkDevice, const VkShaderModuleCreateInfo *, const VkAllocationCallbacks *,
                                                              VkShaderModule *);
CALL(vkCreateShaderModule)
static VKAPI_ATTR VkResult VKAPI_CALL our_vkCreateShaderModule(VkDevice device, const VkShaderModuleCreateInfo *info,
                                                              const VkAllocationCallbacks *allocator, VkShaderModule *module) {
    VkResult result;
    current_shader = crc32_of((const unsigned char *)info->pCode, info->codeSize);
    const struct fault *fault = due("vkCreateShaderModule", -1);
    if (fault) perform(fault);
    if (fault && answer_of(fault, &result)) {
        *module = VK_NULL_HANDLE;
        return result;
    }
    return NEXT(vkCreateShaderModule)(device, info, allocator, module);
}

/* Mapped memory, and the places of buffers in it. */
static struct { VkDeviceMemory memory; unsigned char *bytes; VkDeviceSize size; } maps[64];
static struct { VkBuffer buffer; VkDeviceMemory memory; VkDeviceSize offset; } bound[64];
static size_t map_count, bound_count;

/* The buffers that the last descriptor set binds. */
static VkDescriptorBufferInfo bindings[32];

static VKAPI_ATTR VkResult VKAPI_CALL our_vkMapMemory(VkDevice, VkDeviceMemory, VkDeviceSize, VkDeviceSize, VkMemoryMapFlags, void **);
CALL(vkMapMemory)
static VKAPI_ATTR VkResult VKAPI_CALL our_vkMapMemory(VkDevice device, VkDeviceMemory memory, VkDeviceSize offset, VkDeviceSize size,
                                                     VkMemoryMapFlags flags, void **data) {
    VkResult result;
    const struct fault *fault = due("vkMapMemory", -1);
    if (fault) perform(fault);
    if (fault && answer_of(fault, &result)) {
        *data = NULL;
        return result;
    }
    result = NEXT(vkMapMemory)(device, memory, offset, size, flags, data);
    if (result == VK_SUCCESS && map_count < COUNT(maps)) {
        maps[map_count].memory = memory;
        maps[map_count].bytes = (unsigned char *)*data - offset;
        maps[map_count++].size = offset + size;
    }
    return result;
}

static VKAPI_ATTR VkResult VKAPI_CALL our_vkBindBufferMemory(VkDevice, VkBuffer, VkDeviceMemory, VkDeviceSize);
CALL(vkBindBufferMemory)
static VKAPI_ATTR VkResult VKAPI_CALL our_vkBindBufferMemory(VkDevice device, VkBuffer buffer, VkDeviceMemory memory, VkDeviceSize offset) {
    VkResult result;
    const struct fault *fault = due("vkBindBufferMemory", -1);
    if (fault) perform(fault);
    if (fault && answer_of(fault, &result)) return result;
    if (bound_count < COUNT(bound)) {
        bound[bound_count].buffer = buffer;
        bound[bound_count].memory = memory;
        bound[bound_count++].offset = offset;
    }
    return NEXT(vkBindBufferMemory)(device, buffer, memory, offset);
}

static VKAPI_ATTR void VKAPI_CALL our_vkUpdateDescriptorSets(VkDevice, uint32_t, const VkWriteDescriptorSet *, uint32_t,
                                                            const VkCopyDescriptorSet *);
CALL(vkUpdateDescriptorSets)
static VKAPI_ATTR void VKAPI_CALL our_vkUpdateDescriptorSets(VkDevice device, uint32_t count, const VkWriteDescriptorSet *writes,
                                                            uint32_t copies, const VkCopyDescriptorSet *copied) {
    const struct fault *fault = due("vkUpdateDescriptorSets", -1);
    if (fault) perform(fault);
    for (uint32_t i = 0; i < count; i++)
        if (writes[i].dstBinding < COUNT(bindings) && writes[i].pBufferInfo) bindings[writes[i].dstBinding] = *writes[i].pBufferInfo;
    NEXT(vkUpdateDescriptorSets)(device, count, writes, copies, copied);
}

/* Returns the byte of mapped memory at 'distance' from a binding: from its end if the distance is 0 or more, else from its start. */
static unsigned char *byte_beside(const char *binding, long distance) {
    const VkDescriptorBufferInfo *range = &bindings[atoi(binding) % (int)COUNT(bindings)];
    for (size_t i = bound_count; i-- > 0;) {
        if (bound[i].buffer != range->buffer) continue;
        for (size_t j = map_count; j-- > 0;) {
            if (maps[j].memory != bound[i].memory) continue;
            long place = (long)(bound[i].offset + range->offset) + (distance < 0 ? 0 : (long)range->range) + distance;
            if (place < 0 || (VkDeviceSize)place >= maps[j].size) complain("nothing is mapped %ld bytes from binding %s", distance, binding);
            return maps[j].bytes + place;
        }
    }
    complain("binding %s is in no mapped memory", binding);
    return NULL;
}

/* 'flip:BINDING:BYTE' changes a bit of a shader's output, 'stray:BINDING:DISTANCE' changes a byte outside it. */
static void change_memory(const struct fault *fault) {
    const char *binding = fault->arguments[0];
    long where = atol(fault->arguments[1]);
    if (!strcmp(fault->action, "flip")) *(byte_beside(binding, -1) + 1 + where) ^= 1;
    if (!strcmp(fault->action, "stray")) *byte_beside(binding, where) ^= 0x5a;
}

static VKAPI_ATTR VkResult VKAPI_CALL our_vkWaitForFences(VkDevice, uint32_t, const VkFence *, VkBool32, uint64_t);
CALL(vkWaitForFences)
static VKAPI_ATTR VkResult VKAPI_CALL our_vkWaitForFences(VkDevice device, uint32_t count, const VkFence *fences, VkBool32 all,
                                                         uint64_t timeout) {
    VkResult result;
    const struct fault *fault = due("vkWaitForFences", -1);
    if (fault) perform(fault);
    if (fault && answer_of(fault, &result)) return result;
    result = NEXT(vkWaitForFences)(device, count, fences, all, timeout);
    if (fault && result == VK_SUCCESS) change_memory(fault);
    return result;
}
