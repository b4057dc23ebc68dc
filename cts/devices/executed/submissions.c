/* A library to preload before Mesa's null kernel driver for AMD GPUs. It tells one listener in the same process of each system call that
 * has succeeded on the GPU's node: buffers made and mapped, command buffers submitted, fences. Without a listener it changes nothing. */

#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#define VISIBLE __attribute__((visibility("default")))

/* What Linux's drm.h and amdgpu_drm.h call these requests; the number is in the lowest byte, the type in the next. */
enum { DRM_TYPE = 'd', DRM_GEM_CLOSE = 0x09, AMDGPU_GEM_CREATE = 0x40, AMDGPU_CS = 0x44, AMDGPU_GEM_VA = 0x48 };
enum { DRM_SYNCOBJ_FIRST = 0xbf, DRM_SYNCOBJ_LAST = 0xcf };

typedef int (*listener_fn)(int descriptor, uint32_t number, uint64_t first, void *argument);

static listener_fn listener;

/* Name who is told; NULL for nobody. The listener gets the descriptor, the request's number, the first eight bytes of its argument before
 * the call (the kernel overwrites them), and the argument after it. It returns 0, or the number of the error with which the call ends. */
VISIBLE void executed_listen(listener_fn function) { __atomic_store_n(&listener, function, __ATOMIC_SEQ_CST); }

static int is_told(unsigned long request) {
  uint32_t number = request & 0xff;
  return ((request >> 8) & 0xff) == DRM_TYPE &&
         (number == DRM_GEM_CLOSE || number == AMDGPU_GEM_CREATE || number == AMDGPU_CS || number == AMDGPU_GEM_VA ||
          (number >= DRM_SYNCOBJ_FIRST && number <= DRM_SYNCOBJ_LAST));
}

VISIBLE int ioctl(int descriptor, unsigned long request, ...) {
  static int (*next)(int, unsigned long, void *);
  va_list arguments;
  va_start(arguments, request);
  void *argument = va_arg(arguments, void *);
  va_end(arguments);
  if (!next) next = (int (*)(int, unsigned long, void *))dlsym(RTLD_NEXT, "ioctl");
  uint64_t first = 0;
  int told = is_told(request) && argument;
  if (told) memcpy(&first, argument, sizeof first);
  int result = next(descriptor, request, argument);
  listener_fn function = __atomic_load_n(&listener, __ATOMIC_SEQ_CST);
  int error = told && result == 0 && function ? function(descriptor, request & 0xff, first, argument) : 0;
  if (!error) return result;
  errno = error;
  return -1;
}
