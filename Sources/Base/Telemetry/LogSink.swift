import Synchronization

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#else
  import Darwin
#endif

/// Destination of events.
public protocol LogSink: Sendable {
  /// Takes one event. Returns when it is written.
  func write(_ event: LogEvent)
}

/// One event of the log, before it becomes a line.
public struct LogEvent: Sendable {
  public let time: UnixTime
  public let level: LogLevel
  /// The part of the program it comes from.
  public let label: String
  /// A constant: what differs from one event to the next is in the metadata.
  public let message: String
  public let metadata: LogMetadata
}

/// Writes one line an event to standard error.
public struct StandardErrorSink: LogSink {
  private let format: LogFormat

  /// Lines of all sinks of the process go through one lock, because the kernel keeps only short writes whole.
  private static let isWriting = Mutex<Void>(())

  public init(format: LogFormat) {
    self.format = format
  }

  public func write(_ event: LogEvent) {
    var line = format.line(for: event)
    line += "\n"
    Self.isWriting.withLock { _ in
      line.withUTF8 { Self.writeAll(UnsafeRawBufferPointer($0)) }
    }
  }

  /// Without standard error there is no place to report to, so the line is dropped. A file descriptor that is set to
  /// non-blocking and is full drops the rest of the line as well: a log must not stop the process.
  private static func writeAll(_ bytes: UnsafeRawBufferPointer) {
    var rest = bytes[...]
    while !rest.isEmpty {
      let count = unsafeWrite(UnsafeRawBufferPointer(rebasing: rest))
      if count < 0 && errno == EINTR { continue }
      guard count > 0 else { return }
      rest = rest.dropFirst(count)
    }
  }

  private static func unsafeWrite(_ bytes: UnsafeRawBufferPointer) -> Int {
    #if canImport(Glibc)
      Glibc.write(STDERR_FILENO, bytes.baseAddress, bytes.count)
    #elseif canImport(Musl)
      Musl.write(STDERR_FILENO, bytes.baseAddress, bytes.count)
    #else
      Darwin.write(STDERR_FILENO, bytes.baseAddress, bytes.count)
    #endif
  }
}
