import CountersignAMQP
import CountersignMessages
import CountersignTelemetry
import Projects
import TestSupport
import Testing

@testable import Accounts

extension AccountsBench {
  /// The project with passwords and links, which demands consents to linking.
  func useConsents(_ demand: Project.ConsentRules.Demand = .require, _ change: (inout Project) -> Void = { _ in }) {
    useLinks { project in
      project.consent.linking = demand
      change(&project)
    }
  }

  func consent(to purpose: String = Consent.linking, _ data: [String], version: String = "1") -> Consent {
    Consent(purpose: purpose, textVersion: version, data: data, givenAt: clock.now())
  }

  func recording(
    _ consents: [Consent], revoking purposes: [String] = [], idToken: Secret?, id: String
  ) throws -> RecordConsent {
    var command = RecordConsent(project: Self.project)
    command.idToken = try seal(#require(idToken), RecordConsent.self, id)
    command.consents = consents
    command.revokedPurposes = purposes
    return command
  }

  @discardableResult
  func record(
    _ consents: [Consent] = [], revoking purposes: [String] = [], idToken: Secret?, id: String? = nil
  ) async throws -> Message {
    let id = id ?? nextID()
    return try await ask(recording(consents, revoking: purposes, idToken: idToken, id: id), id: id)
  }

  /// Records a consent to linking.
  func consents(to data: String..., idToken: Secret?) async throws {
    let reply = try await record([consent(data)], idToken: idToken)
    #expect(reply.type == ConsentsRecorded.type.text)
  }

  func revoke(
    _ purposes: [String], of localID: String, by token: Secret?, giving consents: [Consent]? = nil
  ) async throws -> Message {
    let id = nextID()
    var command = RecordConsent(project: Self.project)
    command.bearer = try token.map { try seal($0, RecordConsent.self, id) }
    (command.localID, command.revokedPurposes, command.consents) = (localID, purposes, consents)
    return try await ask(command, id: id)
  }
}
