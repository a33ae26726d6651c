import CountersignEncoding
import Projects
import ServiceRuntime

extension ProjectCommand {
  struct EnableOptions: CommandOptions {
    let target: MethodOptions
    let clientIDs: [String]
    let appID: String?

    init(_ reader: OptionReader) {
      clientIDs = reader.texts(
        "client-id", "ID", "Client whose ID tokens are taken, in addition to those before; may be repeated.")
      appID = reader.text("app-id", "ID", "App at the provider whose access tokens are taken: Facebook's app ID.")
      target = MethodOptions(reader)
    }
  }

  static let enable = CommandEntry("enable", "Switches a way to sign in on.", options: EnableOptions.self) {
    options, context in
    let method = try options.target.checkedMethod()
    let hasFacts = !options.clientIDs.isEmpty || options.appID != nil
    guard !hasFacts || ProjectForms.isProviderID(method) else {
      throw CommandLineError(.usage, "--client-id and --app-id belong to providers, such as apple.com")
    }
    return try options.target.change(method, isOn: true, context) { members in
      guard hasFacts else { return }
      var providers = members["providers"]?.members ?? [:]
      var facts = providers[method]?.members ?? [:]
      if !options.clientIDs.isEmpty { facts["clientIDs"] = merged(facts["clientIDs"], options.clientIDs) }
      if let appID = options.appID { facts["appID"] = .text(appID) }
      providers[method] = .object(facts)
      members["providers"] = .object(providers)
    }
  }

  private static func merged(_ old: JSONValue?, _ new: [String]) -> JSONValue {
    var ids: [String] = []
    if case .array(let values)? = old { ids = values.compactMap(\.text) }
    for id in new where !ids.contains(id) { ids.append(id) }
    return .texts(ids)
  }

  static let disable = CommandEntry(
    "disable", "Switches a way to sign in off. Accounts keep what they have of it.", options: MethodOptions.self
  ) { target, context in
    try target.change(try target.checkedMethod(), isOn: false, context) { _ in }
  }

  /// A way to sign in of a project.
  struct MethodOptions: CommandOptions {
    let place: DirectoryOptions
    let project: String
    let method: String

    init(_ reader: OptionReader) {
      place = reader.inherited()
      project = reader.operand("PROJECT", "ID of the project.")
      method = reader.operand(
        "METHOD",
        "Way to sign in: phone, anonymous, password, emailLink, custom, phoneSecondFactor, totp or a provider such as "
          + "apple.com.")
    }

    func checkedMethod() throws(CommandLineError) -> String {
      guard ProjectForms.isMethod(method) else {
        throw CommandLineError(.badInput, "METHOD must be \(ProjectForms.methodForm)")
      }
      return method
    }

    func change(
      _ method: String, isOn: Bool, _ context: CommandContext, _ body: (inout [String: JSONValue]) -> Void
    ) throws -> CommandOutput {
      let (changed, wasPlain) = try ProjectFiles.change(project, in: place.path(context)) {
        (files, members) throws(CommandLineError) in
        _ = try files.project(project)
        members["methods"] = .object((members["methods"]?.members ?? [:]).merging([method: .bool(isOn)]) { $1 })
        body(&members)
      }
      if !wasPlain { context.report("note: the file was written anew: comments in it are gone\n") }
      return ProjectCommand.output(changed)
    }
  }
}
