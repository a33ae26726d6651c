import CountersignMessages
import CountersignTelemetry
import Projects

/// Calls of development mode, which stock tools know from the emulator. They show codes and delete everything.
struct DevelopmentCalls: Sendable {
  let backend: Backend
  let codes: SentCodes
  /// SMS and mails. `nil` without a simulator: codes are then not known.
  let messages: (any SentMessages)?
  let clock: any WallClock
  let pause: Pause

  /// Waits for a time, unless the call is ended meanwhile.
  typealias Pause = @Sendable (Duration) async -> Void

  /// Time after a session's begin for which its SMS is waited for. In a healthy stack it takes some 30 ms.
  static let patience = Duration.seconds(2)
  static let lookInterval = Duration.milliseconds(20)

  var routes: [Route] {
    [
      // The call of tools that wait for the emulator.
      Route("ready", .get, ["/"], access: .development, waitsFor: .gateway) {
        (_: Call) async throws(ProtocolError) -> CallAnswer in .emulatorIsReady
      },
      .development("resetAccounts", .delete, "accounts", deleteAccounts),
      .development("verificationCodes", .get, "verificationCodes", verificationCodes),
      .development("oobCodes", .get, "oobCodes", mailedCodes),
    ]
  }

  /// Deletes all accounts of the project, and what the coordinator keeps of verifications and limits.
  private func deleteAccounts(_ call: Call) async throws(ProtocolError) -> CallAnswer {
    let project = try call.project()
    _ = try await backend.ask(ResetAccounts(project: project.id))
    _ = try await backend.ask(ResetDevelopment())
    codes.forgetAll(of: project.id)
    return CallAnswer()
  }

  /// Numbers, sessions and codes that are not used yet. Fictional numbers get no SMS and are not among them.
  private func verificationCodes(_ call: Call) async throws(ProtocolError) -> CallAnswer {
    var answer = CallAnswer()
    answer.put(
      "verificationCodes",
      objects: try await sent(of: try call.project().id).map { session, code in
        var entry = CallAnswer()
        entry.put("phoneNumber", session.phoneNumber)
        entry.put("sessionInfo", session.sessionInfo)
        entry.put("code", code)
        return entry
      }, evenIfEmpty: true)
    return answer
  }

  /// Codes of mailed links that are good.
  private func mailedCodes(_ call: Call) async throws(ProtocolError) -> CallAnswer {
    var answer = CallAnswer()
    let codes = try await messages.map { MailedLinks(backend: backend, messages: $0) }?.codes(call)
    answer.put("oobCodes", objects: codes ?? [], evenIfEmpty: true)
    return answer
  }

  /// Live sessions of a project whose code is known. Waits for those that have just begun: tests that were written for
  /// the emulator look at once.
  private func sent(of project: String) async throws(ProtocolError) -> [(SentCodes.Session, code: String)] {
    guard let messages else { return [] }
    while true {
      let now = clock.now()
      let sessions = codes.live(of: project, at: now)
      let sent = sessions.isEmpty ? [] : try await messages.messages()
      let isWaiting = sessions.contains { $0.sent(in: sent) == nil && now < $0.since + Self.patience }
      guard isWaiting, !Task.isCancelled else {
        return sessions.compactMap { $0.sent(in: sent) }
      }
      await pause(Self.lookInterval)
    }
  }
}

extension CallAnswer {
  fileprivate static var emulatorIsReady: CallAnswer {
    var (answer, emulator) = (CallAnswer(), CallAnswer())
    emulator.put("ready", true)
    answer.put("authEmulator", object: emulator)
    return answer
  }
}
