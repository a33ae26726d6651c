#if canImport(Glibc)
  import CAllocator
#endif

/// Settings of the C library's allocator, mallopt(3).
enum MemoryAllocator {
  /// What may lie free at the top of the heap before it is given back to the system, in bytes.
  ///
  /// Work comes in batches: the heap grows and shrinks by a few hundred KiB with each. The default of 128 KiB gives the memory
  /// back after every batch and takes it again, page fault by page fault, with the next. More would make a peak, such as a burst of large
  /// messages, look like a leak.
  private static let trimThreshold: Int32 = 4 << 20
  /// By how much more than asked for the heap grows at a time, in bytes.
  private static let topPad: Int32 = 1 << 20
  /// Blocks from this size on are mapped alone, in bytes. Setting it also keeps the library from raising it by itself.
  private static let mmapThreshold: Int32 = 1 << 20

  /// Heaps that threads share. The default is eight for each core, and a thread that is new takes one of its own: with each grows what lies
  /// free, for hours, as a leak would. Threads of a process do not allocate all at once, so a few heaps do.
  private static let maxArenas: Int32 = 4

  /// Keeps freed memory for the next batch. Once, before the process does anything else; nothing depends on its success.
  static func keepFreedMemory() {
    #if canImport(Glibc)
      _ = mallopt(M_TRIM_THRESHOLD, trimThreshold)
      _ = mallopt(M_TOP_PAD, topPad)
      _ = mallopt(M_MMAP_THRESHOLD, mmapThreshold)
      _ = mallopt(M_ARENA_MAX, maxArenas)
    #endif
  }
}
