import CountersignMessages
import CountersignTelemetry
import Projects

/// Apple's notifications about users, whose signature alone vouches for them: `accounts` checks it. Apple sends one
/// again until it is answered with 200.
struct AppleNoticeCalls: Sendable {
  let backend: Backend
  let projects: ProjectsSource

  var routes: [Route] {
    [
      Route(
        "appleNotification", .post, ["/v1/projects/{project}/apple/notifications"], access: .open,
        waitsFor: .providers, take)
    ]
  }

  private func take(_ call: Call) async throws(ProtocolError) -> CallAnswer {
    guard let project = call.variables["project"].flatMap({ projects.current[$0] }) else { throw .notFound }
    guard let payload = try call.body.secret("payload", else: "INVALID_IDP_RESPONSE") else {
      throw .badField("payload", expected: "a signed notification")
    }
    let exchange = backend.exchange(NoteApple.self)
    let command = NoteApple(project: project.id, payload: try exchange.seal(payload))
    _ = try await exchange.ask(command, timeout: Broker.startTimeout)
    return CallAnswer()
  }
}
