/* What every driver of the kernel's DRM answers: its name, buffers, and objects for synchronization, which are always signalled. */
#define _GNU_SOURCE
#include "stand_in.h"
#include <dlfcn.h>
#include <drm/drm.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>

enum { BUFFERS = 65536 };

static struct { uint64_t offset, size; } buffers[BUFFERS];
static uint64_t points[BUFFERS];
static uint32_t last_buffer, last_object;
static uint64_t next_offset = 1 << 16;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

const uint64_t memory = 4ull << 30;

long number(const char *name, long otherwise)
{
   const char *text = getenv(name);
   return text && *text ? strtol(text, NULL, 0) : otherwise;
}

int is_xe(void)
{
   const char *text = getenv("STUB_INTEL_DRIVER");
   return text && !strcmp(text, "xe");
}

long slices(void) { return number("STUB_INTEL_SLICES", 8); }
long subslices(void) { return number("STUB_INTEL_SUBSLICES", 4); }
long units(void) { return number("STUB_INTEL_EUS", 16); }
long has_vram(void) { return number("STUB_INTEL_VRAM", 1); }

int unknown(const char *what, unsigned long value)
{
   if (number("STUB_INTEL_LOG", 0))
      fprintf(stderr, "intel stand-in: unknown %s %lu\n", what, value);
   errno = EINVAL;
   return -1;
}

int make_buffer(uint64_t size, uint32_t *handle)
{
   *handle = 0;
   size = (size + 0xffff) & ~0xffffull;
   pthread_mutex_lock(&lock);
   for (uint32_t tried = 0; tried < BUFFERS - 1 && !*handle; tried++) {
      last_buffer = last_buffer % (BUFFERS - 1) + 1;
      if (!buffers[last_buffer].size)
         *handle = last_buffer;
   }
   if (next_offset + size > DEVICE_SIZE)
      *handle = 0;
   if (*handle) {
      buffers[*handle].offset = next_offset;
      buffers[*handle].size = size;
      next_offset += size;
   }
   pthread_mutex_unlock(&lock);
   if (*handle)
      return 0;
   errno = ENOMEM;
   return -1;
}

uint64_t buffer_offset(uint32_t handle) { return buffers[handle % BUFFERS].offset; }

uint32_t next_object(void) { return __atomic_add_fetch(&last_object, 1, __ATOMIC_RELAXED) % (BUFFERS - 1) + 1; }

static int write_text(char *to, __kernel_size_t *length, const char *text)
{
   if (to && *length)
      memcpy(to, text, strlen(text) < *length ? strlen(text) : *length);
   *length = strlen(text);
   return 0;
}

static int generic(int fd, unsigned long request, void *argument)
{
   switch (_IOC_NR(request)) {
   case _IOC_NR(DRM_IOCTL_VERSION): {
      struct drm_version *version = argument;
      version->version_major = 1, version->version_minor = 6, version->version_patchlevel = 0;
      write_text(version->name, &version->name_len, is_xe() ? "xe" : "i915");
      write_text(version->date, &version->date_len, "20200101");
      write_text(version->desc, &version->desc_len, "Stands in for a GPU");
      return 0;
   }
   case _IOC_NR(DRM_IOCTL_GET_CAP): {
      struct drm_get_cap *cap = argument;
      cap->value = cap->capability == DRM_CAP_SYNCOBJ || cap->capability == DRM_CAP_SYNCOBJ_TIMELINE ||
                   cap->capability == DRM_CAP_TIMESTAMP_MONOTONIC;
      if (cap->capability == DRM_CAP_PRIME)
         cap->value = 3;
      return 0;
   }
   case _IOC_NR(DRM_IOCTL_GEM_CLOSE): {
      struct drm_gem_close *gone = argument;
      if (gone->handle < BUFFERS && buffers[gone->handle].size) {
         fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, buffers[gone->handle].offset, buffers[gone->handle].size);
         buffers[gone->handle].size = 0;
      }
      return 0;
   }
   case _IOC_NR(DRM_IOCTL_SYNCOBJ_CREATE):
      ((struct drm_syncobj_create *)argument)->handle = next_object();
      return 0;
   case _IOC_NR(DRM_IOCTL_SYNCOBJ_HANDLE_TO_FD):
      ((struct drm_syncobj_handle *)argument)->fd = memfd_create("sync", MFD_CLOEXEC);
      return 0;
   case _IOC_NR(DRM_IOCTL_SYNCOBJ_FD_TO_HANDLE):
      ((struct drm_syncobj_handle *)argument)->handle = next_object();
      return 0;
   case _IOC_NR(DRM_IOCTL_SYNCOBJ_QUERY): {
      struct drm_syncobj_timeline_array *array = argument;
      for (uint32_t i = 0; i < array->count_handles; i++)
         ((uint64_t *)(uintptr_t)array->points)[i] = points[((uint32_t *)(uintptr_t)array->handles)[i] % BUFFERS];
      return 0;
   }
   case _IOC_NR(DRM_IOCTL_SYNCOBJ_TIMELINE_SIGNAL): {
      struct drm_syncobj_timeline_array *array = argument;
      for (uint32_t i = 0; i < array->count_handles; i++)
         points[((uint32_t *)(uintptr_t)array->handles)[i] % BUFFERS] = ((uint64_t *)(uintptr_t)array->points)[i];
      return 0;
   }
   case _IOC_NR(DRM_IOCTL_PRIME_HANDLE_TO_FD):
      ((struct drm_prime_handle *)argument)->fd = memfd_create("dma-buf", MFD_CLOEXEC);
      return 0;
   case _IOC_NR(DRM_IOCTL_SYNCOBJ_DESTROY):
   case _IOC_NR(DRM_IOCTL_SYNCOBJ_WAIT):
   case _IOC_NR(DRM_IOCTL_SYNCOBJ_TIMELINE_WAIT):
   case _IOC_NR(DRM_IOCTL_SYNCOBJ_RESET):
   case _IOC_NR(DRM_IOCTL_SYNCOBJ_SIGNAL):
   case _IOC_NR(DRM_IOCTL_SYNCOBJ_TRANSFER):
      return 0;
   }
   return unknown("ioctl of drm", _IOC_NR(request));
}

EXPORT int ioctl(int fd, unsigned long request, ...)
{
   va_list list;
   va_start(list, request);
   void *argument = va_arg(list, void *);
   va_end(list);
   if (_IOC_TYPE(request) != DRM_IOCTL_BASE || !is_device(fd))
      return REAL(ioctl)(fd, request, argument);
   int nr = _IOC_NR(request);
   if (nr < DRM_COMMAND_BASE || nr >= DRM_COMMAND_END)
      return generic(fd, request, argument);
   return (is_xe() ? of_xe : of_i915)(nr - DRM_COMMAND_BASE, argument);
}
