/* What the kernel driver i915 answers. */
#define _GNU_SOURCE
#include "stand_in.h"
#include <drm/i915_drm.h>
#include <errno.h>
#include <string.h>

static int i915_topology(struct drm_i915_query_item *item)
{
   struct drm_i915_query_topology_info *info = (void *)(uintptr_t)item->data_ptr;
   int s = slices(), n = subslices(), e = units(), slice_bytes = (s + 7) / 8, bytes = (n + 7) / 8, unit_bytes = (e + 7) / 8;
   int length = sizeof *info + slice_bytes + s * bytes + s * n * unit_bytes;
   if (!item->length) {
      item->length = length;
      return 0;
   }
   memset(info, 0, length);
   info->max_slices = s, info->max_subslices = n, info->max_eus_per_subslice = e;
   info->subslice_offset = slice_bytes, info->subslice_stride = bytes;
   info->eu_offset = slice_bytes + s * bytes, info->eu_stride = unit_bytes;
   for (int i = 0; i < s; i++) {
      info->data[i / 8] |= 1 << i % 8;
      for (int k = 0; k < n; k++) {
         info->data[info->subslice_offset + i * bytes + k / 8] |= 1 << k % 8;
         for (int u = 0; u < e; u++)
            info->data[info->eu_offset + (i * n + k) * unit_bytes + u / 8] |= 1 << u % 8;
      }
   }
   return 0;
}

static void i915_query_one(struct drm_i915_query_item *item)
{
   void *data = (void *)(uintptr_t)item->data_ptr;
   switch (item->query_id) {
   case DRM_I915_QUERY_TOPOLOGY_INFO:
   case DRM_I915_QUERY_GEOMETRY_SUBSLICES:
      i915_topology(item);
      return;
   case DRM_I915_QUERY_ENGINE_INFO: {
      struct drm_i915_query_engine_info *info = data;
      int length = sizeof *info + 2 * sizeof info->engines[0];
      if (item->length) {
         memset(info, 0, length);
         info->num_engines = 2;
         info->engines[0].engine.engine_class = I915_ENGINE_CLASS_RENDER;
         info->engines[1].engine.engine_class = I915_ENGINE_CLASS_COPY;
      }
      item->length = length;
      return;
   }
   case DRM_I915_QUERY_MEMORY_REGIONS: {
      struct drm_i915_query_memory_regions *info = data;
      int count = has_vram() ? 2 : 1, length = sizeof *info + count * sizeof info->regions[0];
      if (item->length) {
         memset(info, 0, length);
         info->num_regions = count;
         info->regions[0].region.memory_class = I915_MEMORY_CLASS_SYSTEM;
         if (count == 2)
            info->regions[1].region.memory_class = I915_MEMORY_CLASS_DEVICE;
         for (int i = 0; i < count; i++) {
            info->regions[i].probed_size = info->regions[i].unallocated_size = memory;
            info->regions[i].probed_cpu_visible_size = info->regions[i].unallocated_cpu_visible_size = memory;
         }
      }
      item->length = length;
      return;
   }
   }
   unknown("i915 query", item->query_id);
   item->length = -EINVAL;
}

static int i915_parameter(struct drm_i915_getparam *parameter)
{
   int value = 1;
   switch (parameter->param) {
   case I915_PARAM_CHIPSET_ID: value = number("STUB_INTEL_ID", 0x56a0); break;
   case I915_PARAM_REVISION: value = number("STUB_INTEL_REVISION", 8); break;
   case I915_PARAM_CS_TIMESTAMP_FREQUENCY: value = 19200000; break;
   case I915_PARAM_HAS_ALIASING_PPGTT: value = 3; break;
   case I915_PARAM_NUM_FENCES_AVAIL: value = 32; break;
   case I915_PARAM_CMD_PARSER_VERSION: value = 10; break;
   case I915_PARAM_MMAP_VERSION: value = 4; break;
   case I915_PARAM_MMAP_GTT_VERSION: value = 4; break;
   case I915_PARAM_SUBSLICE_TOTAL: value = slices() * subslices(); break;
   case I915_PARAM_EU_TOTAL: value = slices() * subslices() * units(); break;
   case I915_PARAM_PERF_REVISION: value = 3; break;
   case I915_PARAM_HAS_USERPTR_PROBE: value = 0; break;
   case I915_PARAM_HAS_LLC: value = 0; break;
   case I915_PARAM_SLICE_MASK: value = (1 << slices()) - 1; break;
   case I915_PARAM_SUBSLICE_MASK: value = (1 << subslices()) - 1; break;
   }
   *parameter->value = value;
   return 0;
}

int of_i915(int nr, void *argument)
{
   switch (nr) {
   case DRM_I915_GETPARAM:
      return i915_parameter(argument);
   case DRM_I915_QUERY: {
      struct drm_i915_query *query = argument;
      for (uint32_t i = 0; i < query->num_items; i++)
         i915_query_one((struct drm_i915_query_item *)(uintptr_t)query->items_ptr + i);
      return 0;
   }
   case DRM_I915_GEM_CREATE: {
      struct drm_i915_gem_create *create = argument;
      return make_buffer(create->size, &create->handle);
   }
   case DRM_I915_GEM_CREATE_EXT: {
      struct drm_i915_gem_create_ext *create = argument;
      return make_buffer(create->size, &create->handle);
   }
   case DRM_I915_GEM_USERPTR: {
      struct drm_i915_gem_userptr *create = argument;
      return make_buffer(4096, &create->handle);
   }
   case DRM_I915_GEM_MMAP_GTT: { /* also GEM_MMAP_OFFSET */
      struct drm_i915_gem_mmap_offset *map = argument;
      map->offset = buffer_offset(map->handle);
      return 0;
   }
   case DRM_I915_GEM_CONTEXT_CREATE:
      ((struct drm_i915_gem_context_create *)argument)->ctx_id = 1;
      return 0;
   case DRM_I915_GEM_CONTEXT_GETPARAM: {
      struct drm_i915_gem_context_param *parameter = argument;
      parameter->value = parameter->param == I915_CONTEXT_PARAM_GTT_SIZE ? 1ull << 48 : 0;
      return 0;
   }
   case DRM_I915_GEM_VM_CREATE:
      ((struct drm_i915_gem_vm_control *)argument)->vm_id = 1;
      return 0;
   case DRM_I915_GEM_GET_APERTURE: {
      struct drm_i915_gem_get_aperture *aperture = argument;
      aperture->aper_size = aperture->aper_available_size = 1ull << 48;
      return 0;
   }
   case DRM_I915_REG_READ:
      ((struct drm_i915_reg_read *)argument)->val = 1;
      return 0;
   case DRM_I915_GEM_BUSY:
      ((struct drm_i915_gem_busy *)argument)->busy = 0;
      return 0;
   case DRM_I915_GET_RESET_STATS: {
      struct drm_i915_reset_stats *stats = argument;
      stats->reset_count = stats->batch_active = stats->batch_pending = 0;
      return 0;
   }
   case DRM_I915_GEM_WAIT:
   case DRM_I915_GEM_SET_DOMAIN:
   case DRM_I915_GEM_SET_TILING:
   case DRM_I915_GEM_GET_TILING:
   case DRM_I915_GEM_SET_CACHING:
   case DRM_I915_GEM_MADVISE:
   case DRM_I915_GEM_EXECBUFFER2:
   case DRM_I915_GEM_CONTEXT_SETPARAM:
   case DRM_I915_GEM_CONTEXT_DESTROY:
   case DRM_I915_GEM_VM_DESTROY:
      return 0;
   }
   return unknown("ioctl of i915", nr);
}
