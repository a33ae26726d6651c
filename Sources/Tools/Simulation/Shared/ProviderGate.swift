import CountersignTelemetry
import HTTPServer

struct ProviderGate: Sendable {
  private static let hugeBytes = 16 << 20

  let store: MessageStore
  let clock: any WallClock
  private let faults: FaultRegistry
  private let answers: MetricFamily<Counter>
  private let injected: MetricFamily<Counter>

  init(store: MessageStore, faults: FaultRegistry, clock: any WallClock, metrics: MetricsRegistry) {
    self.store = store
    self.faults = faults
    self.clock = clock
    answers = metrics.counter(
      "countersign_simulator_answers_total", "Answers of the simulated providers.", labels: ["provider", "status"])
    injected = metrics.counter(
      "countersign_simulator_faults_total", "Faults that were injected.", labels: ["provider", "fault"])
  }

  func reply(_ request: HTTPServerRequest, by stub: any ProviderStub) async -> HTTPServerReply {
    let call: ProviderCall
    do throws(ProviderError) { call = try stub.call(request, now: clock.now()) } catch {
      return count(refuse(request, stub, error), stub.provider)
    }
    guard let recipient = call.recipient, let fault = fault(stub.provider, to: recipient) else {
      return count(carryOut(call, request, stub), stub.provider)
    }
    // The message is accepted before the delay, so that a caller who gives up finds it done.
    if fault.isProcessed, fault.kind != .latency, fault.kind != .huge { _ = carryOut(call, request, stub) }
    do { try await Task.sleep(for: fault.delay) } catch { return .close }
    switch fault.kind {
    case .latency: return count(carryOut(call, request, stub), stub.provider)
    case .huge:
      var response = carryOut(call, request, stub)
      response.body += [UInt8](repeating: UInt8(ascii: " "), count: Self.hugeBytes)
      return count(response, stub.provider)
    case .reset: return .reset
    case .close, .hang: return .close
    case .status(let status):
      var response = stub.response(to: stub.failure(status), request)
      if let seconds = fault.retryAfterSeconds { response.headers.add(name: "Retry-After", value: String(seconds)) }
      return count(response, stub.provider)
    }
  }

  private func carryOut(
    _ call: ProviderCall, _ request: HTTPServerRequest, _ stub: any ProviderStub
  ) -> HTTPServerResponse {
    do throws(ProviderError) { return try call.carryOut(clock.now()) } catch { return refuse(request, stub, error) }
  }

  private func refuse(
    _ request: HTTPServerRequest, _ stub: any ProviderStub, _ error: ProviderError
  ) -> HTTPServerResponse {
    if let name = stub.provider.refusal(error) { store.refuse(name) }
    return stub.response(to: error, request)
  }

  private func count(_ response: HTTPServerResponse, _ provider: Provider) -> HTTPServerReply {
    count(String(response.status), provider)
    return .respond(response)
  }

  func count(_ status: String, _ provider: Provider) { answers.with(provider.rawValue, status).increment() }

  func fault(_ provider: Provider, to recipient: String) -> Fault? {
    guard let fault = faults.take(provider, to: recipient) else { return nil }
    injected.with(provider.rawValue, fault.kind.name).increment()
    return fault
  }
}
