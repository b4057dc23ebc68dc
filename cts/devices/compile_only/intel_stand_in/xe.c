/* What the kernel driver xe answers. */
#define _GNU_SOURCE
#include "stand_in.h"
#include <drm/xe_drm.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Numbers that headers of Linux 6.8 to 6.19 lack. */
#ifndef DRM_XE_DEVICE_QUERY_UC_FW_VERSION
#define DRM_XE_DEVICE_QUERY_UC_FW_VERSION 7
#endif
#ifndef DRM_XE_TOPO_L3_BANK
#define DRM_XE_TOPO_L3_BANK 3
#endif
#ifndef DRM_XE_TOPO_SIMD16_EU_PER_DSS
#define DRM_XE_TOPO_SIMD16_EU_PER_DSS 5
#endif
#ifndef DRM_XE_MMAP_OFFSET_FLAG_PCI_BARRIER
#define DRM_XE_MMAP_OFFSET_FLAG_PCI_BARRIER (1 << 0)
#endif
#ifndef DRM_XE_MADVISE
#define DRM_XE_MADVISE 0x0c
#endif
#ifndef DRM_XE_EXEC_QUEUE_SET_PROPERTY
#define DRM_XE_EXEC_QUEUE_SET_PROPERTY 0x0e
#endif

static int answered(struct drm_xe_device_query *query, const void *data, uint32_t size)
{
   if (query->size) {
      if (query->size < size)
         return errno = EINVAL, -1;
      memcpy((void *)(uintptr_t)query->data, data, size);
   }
   query->size = size;
   return 0;
}

static int xe_query(struct drm_xe_device_query *query)
{
   static union {
      uint64_t align;
      char bytes[4096];
      struct drm_xe_query_engines engines;
      struct drm_xe_query_mem_regions regions;
      struct drm_xe_query_config config;
      struct drm_xe_query_gt_list gts;
      struct drm_xe_query_uc_fw_version firmware;
      struct drm_xe_query_engine_cycles cycles;
   } reply;
   int vram = has_vram();
   memset(&reply, 0, sizeof reply);
   switch (query->query) {
   case DRM_XE_DEVICE_QUERY_ENGINES:
      reply.engines.num_engines = 3;
      reply.engines.engines[0].instance.engine_class = DRM_XE_ENGINE_CLASS_RENDER;
      reply.engines.engines[1].instance.engine_class = DRM_XE_ENGINE_CLASS_COPY;
      reply.engines.engines[2].instance.engine_class = DRM_XE_ENGINE_CLASS_COMPUTE;
      return answered(query, &reply, sizeof reply.engines + 3 * sizeof reply.engines.engines[0]);
   case DRM_XE_DEVICE_QUERY_MEM_REGIONS:
      reply.regions.num_mem_regions = 1 + vram;
      for (int i = 0; i < 1 + vram; i++) {
         struct drm_xe_mem_region *region = reply.regions.mem_regions + i;
         region->mem_class = i;
         region->instance = i;
         region->min_page_size = i ? 65536 : 4096;
         region->total_size = memory;
         region->cpu_visible_size = i ? memory : 0;
      }
      return answered(query, &reply, sizeof reply.regions + (1 + vram) * sizeof reply.regions.mem_regions[0]);
   case DRM_XE_DEVICE_QUERY_CONFIG:
      reply.config.num_params = 5;
      reply.config.info[DRM_XE_QUERY_CONFIG_REV_AND_DEVICE_ID] = number("STUB_INTEL_ID", 0xe20b) | number("STUB_INTEL_REVISION", 0) << 16;
      reply.config.info[DRM_XE_QUERY_CONFIG_FLAGS] = vram ? DRM_XE_QUERY_CONFIG_FLAG_HAS_VRAM : 0;
      reply.config.info[DRM_XE_QUERY_CONFIG_MIN_ALIGNMENT] = 65536;
      reply.config.info[DRM_XE_QUERY_CONFIG_VA_BITS] = 48;
      reply.config.info[DRM_XE_QUERY_CONFIG_MAX_EXEC_QUEUE_PRIORITY] = 1;
      return answered(query, &reply, sizeof reply.config + 5 * sizeof reply.config.info[0]);
   case DRM_XE_DEVICE_QUERY_GT_LIST: {
      const char *version = getenv("STUB_INTEL_IP");
      int major = 20, minor = 1;
      if (version)
         sscanf(version, "%d.%d", &major, &minor);
      reply.gts.num_gt = 1;
      struct drm_xe_gt *gt = reply.gts.gt_list;
      gt->type = DRM_XE_QUERY_GT_TYPE_MAIN;
      gt->reference_clock = 19200000;
      gt->near_mem_regions = vram ? 2 : 1;
      gt->far_mem_regions = vram ? 1 : 0;
      gt->ip_ver_major = major, gt->ip_ver_minor = minor;
      return answered(query, &reply, sizeof reply.gts + sizeof reply.gts.gt_list[0]);
   }
   case DRM_XE_DEVICE_QUERY_HWCONFIG:
      query->size = 0;
      return 0;
   case DRM_XE_DEVICE_QUERY_GT_TOPOLOGY: {
      char *at = reply.bytes;
      const int types[] = {DRM_XE_TOPO_DSS_GEOMETRY, DRM_XE_TOPO_DSS_COMPUTE, DRM_XE_TOPO_L3_BANK, DRM_XE_TOPO_SIMD16_EU_PER_DSS};
      for (int i = 0; i < 4; i++) {
         struct drm_xe_query_topology_mask *mask = (void *)at;
         int bits = i < 2 ? slices() * subslices() : i == 2 ? 8 : units();
         mask->gt_id = 0, mask->type = types[i], mask->num_bytes = 8;
         for (int bit = 0; bit < bits && bit < 64; bit++)
            mask->mask[bit / 8] |= 1 << bit % 8;
         at += sizeof *mask + 8;
      }
      return answered(query, &reply, at - reply.bytes);
   }
   case DRM_XE_DEVICE_QUERY_ENGINE_CYCLES: {
      struct drm_xe_query_engine_cycles *cycles = (void *)(uintptr_t)query->data;
      if (query->size) {
         cycles->width = 36;
         cycles->engine_cycles = cycles->cpu_timestamp = cycles->cpu_delta = 1;
      }
      query->size = sizeof *cycles;
      return 0;
   }
   case DRM_XE_DEVICE_QUERY_UC_FW_VERSION: {
      struct drm_xe_query_uc_fw_version *version = (void *)(uintptr_t)query->data;
      if (query->size)
         version->branch_ver = 0, version->major_ver = 70, version->minor_ver = 40, version->patch_ver = 0;
      query->size = sizeof *version;
      return 0;
   }
   }
   return unknown("xe query", query->query);
}

int of_xe(int nr, void *argument)
{
   switch (nr) {
   case DRM_XE_DEVICE_QUERY:
      return xe_query(argument);
   case DRM_XE_GEM_CREATE: {
      struct drm_xe_gem_create *create = argument;
      return make_buffer(create->size, &create->handle);
   }
   case DRM_XE_GEM_MMAP_OFFSET: {
      struct drm_xe_gem_mmap_offset *map = argument;
      map->offset = map->flags & DRM_XE_MMAP_OFFSET_FLAG_PCI_BARRIER ? 0 : buffer_offset(map->handle);
      return 0;
   }
   case DRM_XE_VM_CREATE:
      ((struct drm_xe_vm_create *)argument)->vm_id = next_object();
      return 0;
   case DRM_XE_EXEC_QUEUE_CREATE:
      ((struct drm_xe_exec_queue_create *)argument)->exec_queue_id = next_object();
      return 0;
   case DRM_XE_EXEC_QUEUE_GET_PROPERTY:
      ((struct drm_xe_exec_queue_get_property *)argument)->value = 0;
      return 0;
   case DRM_XE_VM_DESTROY:
   case DRM_XE_VM_BIND:
   case DRM_XE_EXEC_QUEUE_DESTROY:
   case DRM_XE_EXEC:
   case DRM_XE_WAIT_USER_FENCE:
   case DRM_XE_MADVISE:
   case DRM_XE_EXEC_QUEUE_SET_PROPERTY:
      return 0;
   }
   return unknown("ioctl of xe", nr);
}
