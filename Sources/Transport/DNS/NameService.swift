import CCares
import Dispatch

/// Looks up records of DNS with c-ares.
public struct NameService: Sendable {
  private let servers: String?
  private let timeout: Duration

  private static let tries: Int32 = 2
  private static let queue = DispatchQueue(label: "countersign.names", attributes: .concurrent)

  public init(servers: String? = nil, timeout: Duration = .seconds(5)) {
    self.servers = servers
    self.timeout = timeout
  }

  /// Looks up the TXT records of a name, the parts of each joined.
  ///
  /// - Returns: the records; empty if the name does not exist or has none.
  /// - Throws: if no server answers, or one refuses.
  public func texts(_ name: String) async throws(NameServiceError) -> [String] {
    let result = await withCheckedContinuation { continuation in
      // Waiting blocks, so it has a thread of Dispatch's.
      Self.queue.async { continuation.resume(returning: lookUp(name)) }
    }
    return try result.get()
  }

  private func lookUp(_ name: String) -> Result<[String], NameServiceError> {
    guard Self.isLibraryReady else { return .failure(NameServiceError("c-ares did not start")) }
    var options = ares_options()
    options.timeout = Int32(
      clamping: timeout.components.seconds * 1000 + timeout.components.attoseconds / 1_000_000_000_000_000)
    options.tries = Self.tries
    var channel: ares_channel?
    var status = ares_init_options(&channel, &options, Int32(ARES_OPT_TIMEOUTMS | ARES_OPT_TRIES))
    guard status == ARES_SUCCESS, let channel else { return .failure(Self.error(status)) }
    defer { ares_destroy(channel) }
    if let servers {
      status = ares_set_servers_ports_csv(channel, servers)
      guard status == ARES_SUCCESS else { return .failure(Self.error(status)) }
    }
    let answer = Answer()
    ares_query(
      channel, name, Int32(CCARES_IN), Int32(CCARES_TXT),
      { context, status, _, bytes, count in
        Unmanaged<Answer>.fromOpaque(context!).takeUnretainedValue().take(status, bytes, count)
      }, Unmanaged.passUnretained(answer).toOpaque())
    ccares_run(channel)
    return answer.result
  }

  /// Result of the callback; used on one thread.
  private final class Answer {
    private(set) var result: Result<[String], NameServiceError> = .failure(NameServiceError("no answer came"))

    func take(_ status: Int32, _ bytes: UnsafeMutablePointer<UInt8>?, _ count: Int32) {
      guard status != ARES_ENODATA, status != ARES_ENOTFOUND else {
        result = .success([])
        return
      }
      var records: UnsafeMutablePointer<ares_txt_ext>?
      let parsed = status == ARES_SUCCESS ? ares_parse_txt_reply_ext(bytes, count, &records) : status
      defer { if let records { ares_free_data(records) } }
      guard parsed == ARES_SUCCESS || parsed == ARES_ENODATA else {
        result = .failure(NameService.error(parsed))
        return
      }
      var texts: [String] = []
      var next = records
      while let record = next?.pointee {
        let text = String(decoding: UnsafeBufferPointer(start: record.txt, count: record.length), as: UTF8.self)
        if record.record_start != 0 || texts.isEmpty { texts.append(text) } else { texts[texts.count - 1] += text }
        next = record.next
      }
      result = .success(texts)
    }
  }

  fileprivate static func error(_ status: Int32) -> NameServiceError {
    NameServiceError(String(cString: ares_strerror(status)))
  }

  /// Once per process.
  private static let isLibraryReady = ares_library_init(ARES_LIB_INIT_ALL) == ARES_SUCCESS
}

/// Failure of a lookup. A missing record is not a failure.
public struct NameServiceError: Error, Sendable, CustomStringConvertible {
  /// One line.
  public let description: String

  init(_ description: String) {
    self.description = description
  }
}
