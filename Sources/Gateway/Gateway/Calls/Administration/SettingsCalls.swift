import CountersignMessages
import CountersignTelemetry
import Projects

/// Settings of a project, for administrators, and in development mode for clients of this machine.
struct SettingsCalls: Sendable {
  let backend: Backend

  private static let duplicates = "signIn.allowDuplicateEmails"
  private static let privacy = "emailPrivacyConfig.enableImprovedEmailPrivacy"
  /// Names for `updateMask`: the settings, and the objects that hold them.
  private static let known: Set<String> = ["signIn", duplicates, "emailPrivacyConfig", privacy]
  /// Bearer of development mode.
  private static let owner = "owner"

  var routes: [Route] {
    let path = "\(HostPrefix.identity)/v2/projects/{project}/config"
    return [
      Route("projectConfig", .get, [path], access: .administrator, waitsFor: .administrators, show),
      Route("updateProjectConfig", .patch, [path], access: .administrator, waitsFor: .administrators, change),
    ]
  }

  var developmentRoutes: [Route] {
    [
      .development("emulatorConfig", .get, "config", show),
      .development("updateEmulatorConfig", .patch, "config", change),
    ]
  }

  private func show(_ call: Call) async throws(ProtocolError) -> CallAnswer {
    try await ask(ProjectSettingsCommand(project: try call.project().id), call)
  }

  /// Changes the settings that the body has, and of these only what `updateMask` names, if it is there.
  private func change(_ call: Call) async throws(ProtocolError) -> CallAnswer {
    let mask = try call.query.text("updateMask").map { Set($0.split(separator: ",").map(String.init)) }
    guard mask?.isSubset(of: Self.known) ?? true else { throw .notOffered(part: "Another setting") }
    func isNamed(_ name: String) -> Bool {
      mask.map { $0.contains(name) || $0.contains { name.hasPrefix("\($0).") } } ?? true
    }
    var command = ProjectSettingsCommand(project: try call.project().id)
    if isNamed(Self.duplicates) {
      command.allowsDuplicateEmails = try call.body.object("signIn")?.bool("allowDuplicateEmails")
    }
    if isNamed(Self.privacy) {
      command.protectsAddresses = try call.body.object("emailPrivacyConfig")?.bool("enableImprovedEmailPrivacy")
    }
    return try await ask(command, call)
  }

  private func ask(_ command: ProjectSettingsCommand, _ call: Call) async throws(ProtocolError) -> CallAnswer {
    let exchange = backend.exchange(ProjectSettingsCommand.self)
    var command = command
    command.bearer = try exchange.seal(call.bearer ?? Self.owner)
    let settings = try await exchange.ask(command)
    var (signIn, privacy, answer) = (CallAnswer(), CallAnswer(), CallAnswer())
    signIn.put("allowDuplicateEmails", settings.allowsDuplicateEmails)
    privacy.put("enableImprovedEmailPrivacy", settings.protectsAddresses)
    if call.bearer != nil { answer.put("name", "projects/\(command.project)/config") }
    answer.put("signIn", object: signIn)
    answer.put("emailPrivacyConfig", object: privacy)
    return answer
  }
}
