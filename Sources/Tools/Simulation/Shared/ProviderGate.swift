import CountersignTelemetry
import HTTPServer

/// Common path of all requests to simulated providers: ordered faults, time and counters.
struct ProviderGate: Sendable {
  private let faults: FaultRegistry
  let clock: any WallClock
  private let answers: MetricFamily<Counter>
  private let injected: MetricFamily<Counter>

  init(faults: FaultRegistry, clock: any WallClock, metrics: MetricsRegistry) {
    self.faults = faults
    self.clock = clock
    answers = metrics.counter(
      "countersign_simulator_answers_total", "Answers of the simulated providers.", labels: ["provider", "status"])
    injected = metrics.counter(
      "countersign_simulator_faults_total", "Faults that were injected.", labels: ["provider", "fault"])
  }

  /// Answers a request, unless a fault is due.
  func answer(
    _ provider: Provider, to recipient: String, failure: (Int) -> HTTPServerResponse,
    process: () -> HTTPServerResponse
  ) async -> HTTPServerReply {
    guard let fault = fault(provider, to: recipient) else { return count(process(), provider) }
    // The message is accepted before the delay, so that a caller who gives up finds it done.
    if fault.isProcessed, fault.kind != .latency { _ = process() }
    do { try await Task.sleep(for: fault.delay) } catch { return .close }
    switch fault.kind {
    case .latency: return count(process(), provider)
    case .reset: return .reset
    case .close, .hang: return .close
    case .status(let status):
      var response = failure(status)
      if let seconds = fault.retryAfterSeconds { response.headers.add(name: "Retry-After", value: String(seconds)) }
      return count(response, provider)
    }
  }

  /// Fault that is due for a request.
  func fault(_ provider: Provider, to recipient: String) -> Fault? {
    guard let fault = faults.take(provider, to: recipient) else { return nil }
    injected.with(provider.rawValue, fault.kind.name).increment()
    return fault
  }

  /// Counts an answer of a protocol that is not HTTP.
  func count(_ status: String, _ provider: Provider) { answers.with(provider.rawValue, status).increment() }

  func count(_ response: HTTPServerResponse, _ provider: Provider) -> HTTPServerReply {
    answers.with(provider.rawValue, String(response.status)).increment()
    return .respond(response)
  }
}

/// Simulated providers, by their names in faults and metrics.
enum Provider: String, Sendable, CaseIterable {
  case twilio
  case webhook
  case vonage
  case messageBird = "messagebird"
  case aws
  case smpp
  case apns
  case recaptcha
  case googleToken = "google-token"
  case appleToken = "apple-token"
  case appleRevoke = "apple-revoke"

  /// Providers that take messages for phone numbers.
  static let messaging: [Provider] = [.twilio, .webhook, .vonage, .messageBird, .aws, .smpp]

  static var names: String { allCases.map(\.rawValue).joined(separator: ", ") }
}
