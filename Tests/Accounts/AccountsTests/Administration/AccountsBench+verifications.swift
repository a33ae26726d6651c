import CountersignAMQP
import CountersignMessages
import CountersignTelemetry
import TestSupport
import Testing

@testable import Accounts

extension AccountsBench {
  /// Sends a command about a verification, and has the coordinator answer it.
  func verify<C: Command>(_ command: C, id: String, by caller: Bearer) async throws -> Message {
    if let reply = try await send(command, id: id, user: caller.user) { return reply }
    #expect(store.rounds.last == 1)
    await report(try coordinator.answer(any: try #require(checks.first), at: clock.now()))
    return try #require(replies.first)
  }

  func starting(
    _ id: String, by caller: Bearer, key: String? = nil, _ change: (inout StartServiceVerification) -> Void = { _ in }
  ) throws -> StartServiceVerification {
    var command = StartServiceVerification(project: Self.project, app: Self.app, phoneNumber: Self.number)
    command.bearer = try bearer(caller, StartServiceVerification.self, id)
    command.idempotencyKey = key
    change(&command)
    return command
  }

  func startVerification(
    by caller: Bearer, key: String? = nil, _ change: (inout StartServiceVerification) -> Void = { _ in }
  ) async throws -> Message {
    let id = nextID()
    return try await verify(starting(id, by: caller, key: key, change), id: id, by: caller)
  }

  /// ID of a verification that a caller has started. Of another one's, should it be refused.
  func verified(by caller: Bearer) async throws -> String {
    let reply = try await startVerification(by: caller)
    return reply.type == ErrorReply.type.text ? "s0" : try VerificationStarted(json: reply.body).verificationID
  }

  func checking(
    _ verificationID: String, _ id: String, by caller: Bearer, code: String = "123456", key: String? = nil,
    _ change: (inout CheckServiceVerification) -> Void = { _ in }
  ) throws -> CheckServiceVerification {
    var command = CheckServiceVerification(
      project: Self.project, verificationID: verificationID,
      code: try sealed(Secret(code), for: CheckServiceVerification.self, id))
    command.bearer = try bearer(caller, CheckServiceVerification.self, id)
    command.idempotencyKey = key
    change(&command)
    return command
  }

  func checkVerification(
    _ verificationID: String, by caller: Bearer, code: String = "123456", key: String? = nil,
    _ change: (inout CheckServiceVerification) -> Void = { _ in }
  ) async throws -> Message {
    let id = nextID()
    return try await verify(
      checking(verificationID, id, by: caller, code: code, key: key, change), id: id, by: caller)
  }

  func getVerification(
    _ verificationID: String, by caller: Bearer, app: String? = nil, project: String = project
  ) async throws -> Message {
    let id = nextID()
    var command = GetServiceVerification(project: project, verificationID: verificationID)
    command.app = app
    command.bearer = try bearer(caller, GetServiceVerification.self, id)
    return try await verify(command, id: id, by: caller)
  }

  func cancelVerification(
    _ verificationID: String, by caller: Bearer, app: String? = nil
  ) async throws -> Message {
    let id = nextID()
    var command = CancelServiceVerification(project: Self.project, verificationID: verificationID)
    command.app = app
    command.bearer = try bearer(caller, CancelServiceVerification.self, id)
    return try await verify(command, id: id, by: caller)
  }
}
