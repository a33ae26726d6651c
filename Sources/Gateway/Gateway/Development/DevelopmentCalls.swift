import CountersignMessages
import CountersignTelemetry
import Projects

/// Calls of development mode, which stock tools know from the emulator. They show codes and delete everything.
struct DevelopmentCalls: Sendable {
  let backend: Backend
  let codes: SentCodes
  /// `nil` without a simulator: codes are then not known.
  let messages: (any SentMessages)?
  let clock: any WallClock

  var routes: [Route] {
    [
      .development("resetAccounts", .delete, "accounts", deleteAccounts),
      .development("verificationCodes", .get, "verificationCodes", verificationCodes),
    ]
  }

  /// Calls of the emulator that are not offered, in any mode.
  static let notOffered: [Route] = [
    .notOffered("emulator", "/emulator/v1/projects/{project}/oobCodes", "/emulator/v1/projects/{project}/config")
  ]

  /// Deletes all accounts of the project, and empties the coordinator's limits.
  private func deleteAccounts(_ call: Call) async throws(ProtocolError) -> CallAnswer {
    let project = try call.project()
    _ = try await backend.ask(ResetAccounts(project: project.id))
    _ = try await backend.ask(ResetDevelopment())
    codes.forgetAll(of: project.id)
    return CallAnswer()
  }

  /// Numbers, sessions and codes that are not used yet. Fictional numbers get no SMS and are not among them.
  private func verificationCodes(_ call: Call) async throws(ProtocolError) -> CallAnswer {
    let sessions = codes.live(of: try call.project().id, at: clock.now())
    let sent = sessions.isEmpty ? [] : try await messages?.messages() ?? []
    var answer = CallAnswer()
    answer.put(
      "verificationCodes",
      objects: sessions.compactMap { session in
        guard let code = session.code(in: sent) else { return nil }
        var entry = CallAnswer()
        entry.put("phoneNumber", session.phoneNumber)
        entry.put("sessionInfo", session.sessionInfo)
        entry.put("code", code)
        return entry
      }, evenIfEmpty: true)
    return answer
  }
}
