import Dispatch
import Synchronization

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#else
  import Darwin
#endif

/// Turns SIGTERM and SIGINT into calls: the first one requests a stop, the second one ends the process at once. SIGHUP
/// stops nothing.
///
/// The handler writes into a pipe, which a queue reads. On Linux a dispatch source sees only signals that no library
/// thread has taken first. One instance lives as long as the process.
public final class StopSignals: Sendable {
  private static let signals = [SIGTERM, SIGINT, SIGHUP]

  private let source: Mutex<any DispatchSourceRead>

  /// - Parameters:
  ///   - onFirst: called with the signal's number on a queue of its own.
  ///   - onSecond: called likewise for every further signal, of either kind; by default ends the process.
  ///   - onHangUp: called likewise for each SIGHUP, which means "reload" to operators of other servers; by default does
  ///     nothing.
  /// - Throws: an error when the process has no file descriptor left.
  public init(
    onFirst: @escaping @Sendable (Int32) -> Void,
    onSecond: @escaping @Sendable (Int32) -> Void = { ProcessExit.now(.signal($0)) },
    onHangUp: @escaping @Sendable () -> Void = {}
  ) throws(StartError) {
    let readEnd = try Self.openPipe()
    let reader = DispatchSource.makeReadSource(
      fileDescriptor: readEnd, queue: DispatchQueue(label: "countersign.signals"))
    let isStopping = Mutex(false)
    reader.setEventHandler {
      while let number = Self.nextSignal(readEnd) {
        guard number != SIGHUP else {
          onHangUp()
          continue
        }
        let isFirst = isStopping.withLock { stopping -> Bool in
          defer { stopping = true }
          return !stopping
        }
        if isFirst { onFirst(number) } else { onSecond(number) }
      }
    }
    reader.setCancelHandler { close(readEnd) }
    reader.resume()
    source = Mutex(reader)
    for number in Self.signals { signal(number, forwardSignal) }
    // A write to a connection that the peer has closed is an error of that write, not the end of the process.
    signal(SIGPIPE, SIG_IGN)
  }

  deinit {
    for number in Self.signals { signal(number, SIG_DFL) }
    let writeEnd = signalPipe.exchange(-1, ordering: .relaxed)
    if writeEnd >= 0 { close(writeEnd) }
    source.withLock { $0.cancel() }
  }

  private static func openPipe() throws(StartError) -> Int32 {
    var ends: [Int32] = [-1, -1]
    guard pipe(&ends) == 0 else {
      throw StartError(
        .temporaryFailure, "no file descriptor left for signals", hint: "raise the limit (ulimit -n, LimitNOFILE=)")
    }
    for end in ends {
      _ = fcntl(end, F_SETFD, FD_CLOEXEC)
      // The handler must not wait, and the reader reads until nothing is left.
      _ = fcntl(end, F_SETFL, O_NONBLOCK)
    }
    let old = signalPipe.exchange(ends[1], ordering: .relaxed)
    precondition(old < 0, "there is one StopSignals in a process")
    return ends[0]
  }

  private static func nextSignal(_ readEnd: Int32) -> Int32? {
    var byte: UInt8 = 0
    return read(readEnd, &byte, 1) == 1 ? Int32(byte) : nil
  }
}

/// The end of the pipe that the handler writes to. -1 when nothing watches.
private let signalPipe = Atomic<Int32>(-1)

/// The signal handler. It may run in any thread at any point, so it only loads a number that was initialized before and
/// calls `write`, which is async-signal-safe (signal-safety(7)). A full pipe holds enough signals.
private func forwardSignal(_ number: Int32) {
  let descriptor = signalPipe.load(ordering: .relaxed)
  var byte = UInt8(truncatingIfNeeded: number)
  let savedError = errno
  _ = write(descriptor, &byte, 1)
  errno = savedError
}
