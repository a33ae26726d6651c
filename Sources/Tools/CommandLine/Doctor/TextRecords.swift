import CResolver
import Dispatch

/// On threads of its own.
struct TextRecords: Sendable {
  private static let tries: Int32 = 2

  /// Port of a server on this machine. 0 for the servers of this machine's `/etc/resolv.conf`.
  var port: UInt16 = 0
  /// Time for an answer of a server, in whole seconds.
  let timeout: Duration

  /// A missing record is not a failure.
  struct Failure: Error, CustomStringConvertible {
    let description: String
  }

  /// The parts of each joined. Empty if the name does not exist or has none.
  func of(_ name: String) async throws(Failure) -> [String] {
    let result = await withCheckedContinuation { continuation in
      DispatchQueue(label: "countersign.names").async { continuation.resume(returning: lookUp(name)) }
    }
    return try result.get()
  }

  private func lookUp(_ name: String) -> Result<[String], Failure> {
    var records: [String] = []
    let seconds = Int32(clamping: max(1, timeout.components.seconds))
    let error = withUnsafeMutablePointer(to: &records) { records in
      cres_texts(name, port, seconds, Self.tries, records) { context, text, length, begins in
        let records = context!.assumingMemoryBound(to: [String].self)
        let part = String(decoding: UnsafeBufferPointer(start: text, count: length), as: UTF8.self)
        if begins != 0 { records.pointee.append(part) } else { records.pointee[records.pointee.count - 1] += part }
      }
    }
    return switch error {
    case 0: .success(records)
    case HOST_NOT_FOUND, NO_DATA: .success([])
    case TRY_AGAIN: .failure(Failure(description: "no name server answered"))
    default: .failure(Failure(description: "a name server refused"))
    }
  }
}
