import Dispatch
import Glibc
import Synchronization

/// Addresses of a host, found within a limit: getaddrinfo(3) has none.
enum HostAddresses {
  /// Addresses of one name that are tried.
  private static let maxAddresses = 8
  /// Questions that wait for an answer, each on a thread of its own, in this process.
  private static let maxQuestions = 16
  private static let questions = Mutex(0)

  private final class Answer: Sendable {
    let addresses = Mutex<[String]>([])
    let isReady = DispatchSemaphore(value: 0)
  }

  static func find(
    _ host: String, until deadline: ContinuousClock.Instant, unless closing: Closing
  ) -> [String] {
    let own = ask(host, AI_NUMERICHOST)
    guard own.isEmpty else { return own }
    guard enter() else { return [] }
    let answer = Answer()
    DispatchQueue(label: "postgresql.names").async {
      let found = ask(host, 0)
      questions.withLock { $0 -= 1 }
      answer.addresses.withLock { $0 = found }
      answer.isReady.signal()
    }
    while ContinuousClock.now < deadline, !closing.hasBegun {
      let interval = DispatchTimeInterval.milliseconds(Int(Closing.interval.milliseconds))
      if answer.isReady.wait(timeout: .now() + interval) == .success { return answer.addresses.withLock { $0 } }
    }
    return []
  }

  private static func enter() -> Bool {
    questions.withLock { questions in
      guard questions < maxQuestions else { return false }
      questions += 1
      return true
    }
  }

  private static func ask(_ host: String, _ flags: Int32) -> [String] {
    var hints = addrinfo()
    hints.ai_flags = flags
    hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
    var first: UnsafeMutablePointer<addrinfo>?
    guard getaddrinfo(host, nil, &hints, &first) == 0 else { return [] }
    defer { freeaddrinfo(first) }
    var addresses: [String] = []
    var next = first
    while let entry = next?.pointee, addresses.count < maxAddresses {
      if let address = text(of: entry), !addresses.contains(address) { addresses.append(address) }
      next = entry.ai_next
    }
    return addresses
  }

  private static func text(of entry: addrinfo) -> String? {
    var name = [CChar](repeating: 0, count: Int(NI_MAXHOST))
    guard
      getnameinfo(entry.ai_addr, entry.ai_addrlen, &name, socklen_t(name.count), nil, 0, NI_NUMERICHOST) == 0
    else { return nil }
    return String(decoding: name.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
  }
}
