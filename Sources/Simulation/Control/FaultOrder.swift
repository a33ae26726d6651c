import FoundationEssentials

/// The body of `POST /control/faults`.
struct FaultOrder: Decodable, Sendable {
  static let maxCount = 10_000_000
  static let maxDelaySeconds = 3_600.0
  /// How long a hanging request is held when `delaySeconds` is not given: longer than any caller waits.
  static let hangSeconds = 600.0

  private static let keys: Set<String> = [
    "provider", "fault", "count", "probability", "delaySeconds", "retryAfterSeconds", "to", "processed",
  ]

  /// A status may come as a number or as text.
  private enum Name: Decodable {
    case text(String)

    init(from decoder: any Decoder) throws {
      let container = try decoder.singleValueContainer()
      // Not a number: then it has to be text.
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

  /// Why an order is not understood; the text goes to who gave it.
  struct Problem: Error { let text: String }

  /// The fault that is ordered, with that ID.
  static func read(_ body: [UInt8], id: Int) throws(Problem) -> Fault {
    let order: FaultOrder
    do {
      let fields = try JSONDecoder().decode([String: Ignored].self, from: Data(body)).keys
      if let unknown = fields.first(where: { !keys.contains($0) }) {
        throw Problem(text: "unknown field \(unknown); there are \(keys.sorted().joined(separator: ", "))")
      }
      order = try JSONDecoder().decode(FaultOrder.self, from: Data(body))
    } catch let problem as Problem {
      throw problem
    } catch {
      throw Problem(text: "the body must be a JSON object with at least \"fault\"; GET /control says more")
    }
    return try order.fault(id: id)
  }

  private struct Ignored: Decodable { init(from decoder: any Decoder) throws {} }

  private func fault(id: Int) throws(Problem) -> Fault {
    let kind = try kind()
    return Fault(
      id: id, kind: kind, provider: try providerWanted(), recipient: to,
      remaining: try within(count, 1...Self.maxCount, "count") ?? (probability == nil ? 1 : nil),
      probability: try within(probability, 0...1, "probability") ?? 1,
      delay: .milliseconds(Int64(try delay(kind) * 1_000)),
      retryAfterSeconds: try within(retryAfterSeconds, 0...86_400, "retryAfterSeconds"),
      isProcessed: processed ?? (kind == .latency))
  }

  private func kind() throws(Problem) -> Fault.Kind {
    guard case .text(let name) = fault else { return .latency }
    switch name {
    case "latency": return .latency
    case "reset": return .reset
    case "close": return .close
    case "hang": return .hang
    default:
      guard let status = Int(name), (400...599).contains(status) else {
        throw Problem(text: "fault must be latency, reset, close, hang or a status from 400 to 599")
      }
      return .status(status)
    }
  }

  private func providerWanted() throws(Problem) -> Provider? {
    guard let provider, provider != "any" else { return nil }
    guard let known = Provider(rawValue: provider) else {
      throw Problem(text: "provider must be twilio, webhook or any")
    }
    return known
  }

  private func delay(_ kind: Fault.Kind) throws(Problem) -> Double {
    let seconds = try within(delaySeconds, 0...Self.maxDelaySeconds, "delaySeconds")
    if kind == .latency && seconds == nil { throw Problem(text: "latency needs delaySeconds") }
    return seconds ?? (kind == .hang ? Self.hangSeconds : 0)
  }

  private func within<Value>(
    _ value: Value?, _ range: ClosedRange<Value>, _ name: String
  ) throws(Problem) -> Value? {
    guard let value else { return nil }
    guard range.contains(value) else {
      throw Problem(text: "\(name) must be from \(range.lowerBound) to \(range.upperBound)")
    }
    return value
  }
}
