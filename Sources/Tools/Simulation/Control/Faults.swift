import CountersignEncoding
import Synchronization

struct Fault: Sendable, Equatable {
  enum Kind: Sendable, Equatable {
    case latency
    case status(Int)
    /// TCP reset after the request was read.
    case reset
    /// Orderly end of the connection, without an answer.
    case close
    /// No answer for `delay`, then the end of the connection.
    case hang
    /// The answer, and behind it more spaces than any caller reads.
    case huge

    init?(name: String) {
      switch name {
      case "latency": self = .latency
      case "reset": self = .reset
      case "close": self = .close
      case "hang": self = .hang
      case "huge": self = .huge
      default:
        guard let status = Int(name), (400...599).contains(status) else { return nil }
        self = .status(status)
      }
    }

    var name: String { if case .status(let status) = self { String(status) } else { "\(self)" } }
  }

  let id: Int
  let kind: Kind
  /// `nil` means any.
  let provider: Provider?
  /// `nil` means any.
  let recipient: String?
  /// `nil` means no limit.
  var remaining: Int?
  /// 0 to 1.
  let probability: Double
  let delay: Duration
  let retryAfterSeconds: Int?
  /// Whether the message is accepted nevertheless.
  let isProcessed: Bool
  var hits = 0

  var json: String {
    """
    {"id":\(id),"provider":"\(provider?.rawValue ?? "any")","fault":"\(kind.name)","to":\(JSONString.quote(recipient)),\
    "remaining":\(remaining.map(String.init) ?? "null"),"probability":\(probability),\
    "delaySeconds":\(Double(delay.components.seconds) + Double(delay.components.attoseconds) / 1e18),\
    "retryAfterSeconds":\(retryAfterSeconds.map(String.init) ?? "null"),"processed":\(isProcessed),"hits":\(hits)}
    """
  }
}

/// Body of `POST /control/faults`.
struct FaultOrder: ControlOrder {
  /// Longer than any caller waits.
  private static let hangSeconds = 600.0

  static let fields: Set<String> = [
    "provider", "fault", "count", "probability", "delaySeconds", "retryAfterSeconds", "to", "processed",
  ]

  /// Name of the fault, or a status, as a number or as text.
  private struct Name: Decodable {
    let text: String

    init(from decoder: any Decoder) throws {
      let container = try decoder.singleValueContainer()
      // Not a number, therefore text.
      if let number = try? container.decode(Int.self) {
        text = String(number)
      } else {
        text = try container.decode(String.self)
      }
    }
  }

  private let provider: String?
  private let fault: Name
  private let count: Int?
  private let probability: Double?
  private let delaySeconds: Double?
  private let retryAfterSeconds: Int?
  private let to: String?
  private let processed: Bool?

  func check() throws(ControlProblem) {
    guard Fault.Kind(name: fault.text) != nil else {
      throw ControlProblem("fault must be latency, reset, close, hang, huge or a status from 400 to 599")
    }
    if fault.text == "latency" && delaySeconds == nil { throw ControlProblem("latency needs delaySeconds") }
    try Self.require(provider, among: Set(Provider.allCases.map(\.rawValue) + ["any"]), "provider")
    try Self.require(count, in: 1...10_000_000, "count")
    try Self.require(probability, in: 0...1, "probability")
    try Self.require(delaySeconds, in: 0...3_600, "delaySeconds")
    try Self.require(retryAfterSeconds, in: 0...86_400, "retryAfterSeconds")
  }

  func fault(id: Int) -> Fault {
    let kind = Fault.Kind(name: fault.text) ?? .hang
    let delay = delaySeconds ?? (kind == .hang ? Self.hangSeconds : 0)
    return Fault(
      id: id, kind: kind, provider: provider.flatMap(Provider.init), recipient: to,
      remaining: count ?? (probability == nil ? 1 : nil), probability: probability ?? 1,
      delay: .milliseconds(Int64(delay * 1_000)), retryAfterSeconds: retryAfterSeconds,
      isProcessed: processed ?? (kind == .latency))
  }
}

/// A request gets the first one that matches.
final class FaultRegistry: Sendable {
  static let maxFaults = 100

  private struct State {
    var faults: [Fault] = []
    var nextID = 1
  }

  private let state = Mutex(State())
  private let random: @Sendable () -> Double

  init(random: @escaping @Sendable () -> Double) { self.random = random }

  func add(_ order: FaultOrder) throws(ControlProblem) -> Fault {
    try state.withLock { state throws(ControlProblem) in
      guard state.faults.count < Self.maxFaults else {
        throw ControlProblem("there are \(Self.maxFaults) faults already; DELETE /control/faults clears them")
      }
      let fault = order.fault(id: state.nextID)
      state.nextID += 1
      state.faults.append(fault)
      return fault
    }
  }

  /// A fault that has hit often enough is removed.
  func take(_ provider: Provider, to recipient: String) -> Fault? {
    state.withLock { state in
      guard let index = state.faults.firstIndex(where: { hits($0, provider, recipient) }) else { return nil }
      state.faults[index].hits += 1
      let fault = state.faults[index]
      if let remaining = fault.remaining {
        state.faults[index].remaining = remaining - 1
        if remaining == 1 { state.faults.remove(at: index) }
      }
      return fault
    }
  }

  func all() -> [Fault] { state.withLock { $0.faults } }

  func clear(id: Int? = nil) -> Int {
    state.withLock { state in
      let before = state.faults.count
      state.faults.removeAll { id == nil || $0.id == id }
      return before - state.faults.count
    }
  }

  private func hits(_ fault: Fault, _ provider: Provider, _ recipient: String) -> Bool {
    guard fault.provider == nil || fault.provider == provider else { return false }
    guard fault.recipient == nil || fault.recipient == recipient else { return false }
    return fault.probability >= 1 || random() < fault.probability
  }
}
