/// Body of `POST /control/faults`.
struct FaultOrder: ControlOrder {
  static let maxCount = 10_000_000
  static let maxDelaySeconds = 3_600.0
  /// Default time to hold a hanging request: longer than any caller waits.
  static let hangSeconds = 600.0

  static let fields: Set<String> = [
    "provider", "fault", "count", "probability", "delaySeconds", "retryAfterSeconds", "to", "processed",
  ]

  /// Name of the fault, or a status, as a number or as text.
  private enum Name: Decodable {
    case text(String)

    init(from decoder: any Decoder) throws {
      let container = try decoder.singleValueContainer()
      // Not a number, therefore text.
      if let number = try? container.decode(Int.self) {
        self = .text(String(number))
      } else {
        self = .text(try container.decode(String.self))
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

  func fault(id: Int) throws(ControlProblem) -> Fault {
    let kind = try kind()
    return Fault(
      id: id, kind: kind, provider: try providerWanted(), recipient: to,
      remaining: try Self.within(count, 1...Self.maxCount, "count") ?? (probability == nil ? 1 : nil),
      probability: try Self.within(probability, 0...1, "probability") ?? 1,
      delay: .milliseconds(Int64(try delay(kind) * 1_000)),
      retryAfterSeconds: try Self.within(retryAfterSeconds, 0...86_400, "retryAfterSeconds"),
      isProcessed: processed ?? (kind == .latency))
  }

  private func kind() throws(ControlProblem) -> Fault.Kind {
    guard case .text(let name) = fault else { return .latency }
    switch name {
    case "latency": return .latency
    case "reset": return .reset
    case "close": return .close
    case "hang": return .hang
    default:
      guard let status = Int(name), (400...599).contains(status) else {
        throw ControlProblem("fault must be latency, reset, close, hang or a status from 400 to 599")
      }
      return .status(status)
    }
  }

  private func providerWanted() throws(ControlProblem) -> Provider? {
    guard let provider, provider != "any" else { return nil }
    guard let known = Provider(rawValue: provider) else {
      throw ControlProblem("provider must be any or one of \(Provider.names)")
    }
    return known
  }

  private func delay(_ kind: Fault.Kind) throws(ControlProblem) -> Double {
    let seconds = try Self.within(delaySeconds, 0...Self.maxDelaySeconds, "delaySeconds")
    if kind == .latency && seconds == nil { throw ControlProblem("latency needs delaySeconds") }
    return seconds ?? (kind == .hang ? Self.hangSeconds : 0)
  }
}
