import CountersignCOpenSSL
import Glibc

/// Random numbers from the operating system's cryptographic generator, getrandom(2).
public enum SecureRandom {
  /// - Parameter count: how many bytes. Not negative.
  public static func bytes(_ count: Int) -> [UInt8] {
    precondition(count >= 0, "a negative number of random bytes")
    return [UInt8](unsafeUninitializedCapacity: count) { buffer, filled in
      fill(UnsafeMutableRawBufferPointer(rebasing: UnsafeMutableRawBufferPointer(buffer)[..<count]))
      filled = count
    }
  }

  /// A number in `0..<bound`, each equally likely: values from the incomplete last stretch of 2³² are drawn anew.
  /// - Parameter bound: at least 1.
  public static func uniform(below bound: UInt32) -> UInt32 {
    precondition(bound > 0, "no number is below 0")
    // 2³² mod bound, computed within 32 bits: so many values are too many.
    let excess = (0 &- bound) % bound
    while true {
      var value: UInt32 = 0
      withUnsafeMutableBytes(of: &value) { fill($0) }
      if value >= excess { return value % bound }
    }
  }

  static func fill(_ buffer: UnsafeMutableRawBufferPointer) {
    var done = 0
    while done < buffer.count {
      // It waits for the kernel's generator to be seeded, which is long past when services start.
      let count = getrandom(buffer.baseAddress?.advanced(by: done), buffer.count - done, 0)
      if count > 0 {
        done += count
      } else if errno != EINTR {
        // No kernel of this decade refuses (ENOSYS), but a sandbox may. Swift's generator knows further ways, and stops
        // the process rather than return anything predictable.
        var generator = SystemRandomNumberGenerator()
        for index in done..<buffer.count { buffer[index] = generator.next() }
        return
      }
    }
  }
}
