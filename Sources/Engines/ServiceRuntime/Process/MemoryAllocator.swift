#if canImport(Glibc)
  import CAllocator
#endif

/// Settings of the C library's allocator, mallopt(3).
enum MemoryAllocator {
  /// Free memory at the top of the heap before it is returned to the system, in bytes.
  ///
  /// Each batch grows and shrinks the heap by a few hundred KiB. The default of 128 KiB returns that memory and takes
  /// it again, page fault by page fault. A larger threshold would make a peak look like a leak.
  private static let trimThreshold: Int32 = 4 << 20
  /// Extra growth of the heap at a time, in bytes.
  private static let topPad: Int32 = 1 << 20
  /// Blocks from this size on are mapped separately, in bytes. Setting it also keeps the library from raising it by
  /// itself.
  private static let mmapThreshold: Int32 = 1 << 20

  /// Heaps that threads share. The default is eight for each core, and each new thread takes one of its own: with each
  /// the free memory grows, for hours, as a leak would. Threads of a process do not all allocate at once, so a few
  /// heaps suffice.
  private static let maxArenas: Int32 = 4

  /// Call once, before the process does anything else. Nothing depends on its success.
  static func keepFreedMemory() {
    #if canImport(Glibc)
      _ = mallopt(M_TRIM_THRESHOLD, trimThreshold)
      _ = mallopt(M_TOP_PAD, topPad)
      _ = mallopt(M_MMAP_THRESHOLD, mmapThreshold)
      _ = mallopt(M_ARENA_MAX, maxArenas)
    #endif
  }
}
