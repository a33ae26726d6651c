import CommandEngine
import CountersignMessages
import CountersignTelemetry
import Projects

/// `account.findMethods`: the ways to sign in of an address, where the project does not protect addresses.
struct FindMethodsOrder: CommandOrder {
  private let project: Project
  private let email: String

  init(_ command: FindMethods, _ envelope: Envelope, _ reader: CommandReader) throws(APIError) {
    project = try reader.project(command.project)
    email = try MailAddress.read(PasswordCredential(command.credential, envelope, nil, reader).email)
  }

  func carryOut(_ envelope: Envelope, in set: inout WorkingSet) throws(StoreError) -> CommandAnswer? {
    let settings = try ProjectSettings.find(project, in: set)
    guard !settings.protectsAddresses else { return try CommandAnswer(MethodsFound()) }
    let key = try AccountRecord.key(ofEmail: email, project: project.id)
    guard let account = try AccountRecord.find(holderOf: key, in: set) else {
      return try CommandAnswer(MethodsFound(isRegistered: false))
    }
    var methods = account.identities.map(\.provider)
    if account.signsInByEmail, account.hasPassword { methods.append(Project.Method.password.rawValue) }
    if account.signsInByEmail, account.signsInByLink { methods.append(Project.Method.emailLink.rawValue) }
    return try CommandAnswer(MethodsFound(isRegistered: true, methods: methods))
  }
}
