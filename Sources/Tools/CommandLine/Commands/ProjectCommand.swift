import Coordination
import CountersignCryptography
import CountersignEncoding
import Projects
import ServiceRuntime

enum ProjectCommand {
  static let group = CommandEntry(
    "project", "Adds projects and their apps, and prints what apps need to know.",
    discussion: """
      All of them work on the directory of projects, whose file ID.json5 is the project ID. accounts, gateway and coordinator read it
      again a few seconds after it has changed. A file that a command changes is written anew, without comments. Domains, origins and
      keys are changed in the file itself, which Config/project.json5 explains.
      """,
    options: DirectoryOptions.self,
    [add, app, enable, disable, list, show])

  struct DirectoryOptions: CommandOptions {
    let directory: String?

    init(_ reader: OptionReader) {
      directory = reader.text(
        "directory", "DIR", "Directory of the projects: projects beside the processes' configuration unless given.")
    }

    func path(_ context: CommandContext) throws(CommandLineError) -> String {
      if let directory { return directory }
      if let configurations = try context.backend().configDirectory { return configurations + "/projects" }
      throw CommandLineError(
        .configuration,
        "the directory of the projects is not known: give --directory, or set COUNTERSIGN_CONFIG_DIR")
    }
  }
}

extension ProjectCommand {
  struct AddOptions: CommandOptions {
    let place: DirectoryOptions
    let id: String
    let number: Int?
    let authDomain: String?
    let domains: [String]
    let methods: Set<Project.Method>

    init(_ reader: OptionReader) {
      place = reader.inherited()
      number = reader.integer(
        "number", "NUMBER", in: ProjectForms.numbers, "Number of the project, such as 100000000001; required.")
      authDomain = reader.text(
        "auth-domain", "HOST", "Host of the project's pages: ID.firebaseapp.com unless given.")
      domains = reader.texts("domain", "HOST", "Host whose pages may use the project; may be repeated.")
      let words = reader.texts(
        "method", "METHOD",
        "Way to sign in: phone, anonymous, password, emailLink, custom, phoneSecondFactor, totp, a provider; repeatable. phone unless given."
      )
      methods = Self.methods(words, reader)
      id = reader.operand("ID", "ID of the project: 6 to 30 lower case letters, digits and hyphens.")
    }

    private static func methods(_ words: [String], _ reader: OptionReader) -> Set<Project.Method> {
      if !words.allSatisfy(ProjectForms.isMethod) { reader.fail("--method must be \(ProjectForms.methodForm)") }
      return words.isEmpty ? [.phone] : Set(words.map(Project.Method.init))
    }
  }

  static let add = CommandEntry("add", "Adds a project, with a new API key.", options: AddOptions.self) {
    options, context in
    guard let number = options.number else { throw CommandLineError(.usage, "--number is missing") }
    guard ProjectForms.isProjectID(options.id) else {
      throw CommandLineError(.badInput, "the ID must be \(ProjectForms.projectIDForm)")
    }
    let (project, _) = try ProjectFiles.change(options.id, in: options.place.path(context), isMade: true) {
      (files, members) throws(CommandLineError) in
      guard files.projects[options.id] == nil else {
        throw CommandLineError(.badInput, "\(files.directory.path) has a project \(options.id) already")
      }
      members = [
        "number": .integer(Int64(number)), "apiKeys": .texts([NewName.apiKey()]),
        "authDomain": .text(options.authDomain ?? "\(options.id).firebaseapp.com"),
        "authorizedDomains": .texts(options.domains),
        "methods": .object(
          Dictionary(
            uniqueKeysWithValues: options.methods.union([.phone, .anonymous]).map {
              ($0.rawValue, JSONValue.bool(options.methods.contains($0)))
            })),
      ]
    }
    return output(project)
  }

  struct AppOptions: CommandOptions {
    let place: DirectoryOptions
    let project: String
    let platform: ProjectApp.Platform?
    let id: String?
    let origins: [String]
    let name: String?
    let verification: String?
    let isPropertyList: Bool

    init(_ reader: OptionReader) {
      place = reader.inherited()
      platform = reader.word("platform", "PLATFORM", "ios, web or android; required.")
      id = reader.text("id", "ID", "Bundle ID, package name, or a name of a web app; required.")
      origins = reader.texts("origin", "ORIGIN", "Origin of a web app, https://example.com; may be repeated.")
      name = reader.text("name", "NAME", "Name of the app in the SMS with a code; with --verification.")
      verification = reader.text(
        "verification", "WAY",
        "Way in which the app is proven: \(ProjectCodes.verifications.joined(separator: ", ")); with --name.")
      isPropertyList = reader.flag("plist", "Print GoogleService-Info.plist, for an Apple app.")
      project = reader.operand("PROJECT", "ID of the project.")
    }
  }

  static let app = CommandEntry(
    "app", "Adds an app to a project, and prints what the app needs to know.", options: AppOptions.self
  ) { options, context in
    guard let platform = options.platform else { throw CommandLineError(.usage, "--platform is missing") }
    guard let id = options.id else { throw CommandLineError(.usage, "--id is missing") }
    guard ProjectForms.isAppName(id) else {
      throw CommandLineError(.badInput, "--id must be 1 to 128 letters, digits, '.', - and _")
    }
    if platform != .web, !options.origins.isEmpty {
      throw CommandLineError(.usage, "--origin belongs to web apps")
    }
    if platform != .ios, options.isPropertyList {
      throw CommandLineError(.usage, "--plist belongs to Apple apps, --platform ios")
    }
    guard (options.name == nil) == (options.verification == nil) else {
      throw CommandLineError(.usage, "--name and --verification belong together")
    }
    let (project, wasPlain) = try ProjectFiles.change(options.project, in: options.place.path(context)) {
      (files, members) throws(CommandLineError) in
      let project = try files.project(options.project)
      if let owner = files.projects.all.values.first(where: { $0.app(id: id) != nil }) {
        throw CommandLineError(.badInput, "the project \(owner.id) has an app \(id) already")
      }
      var app: [String: JSONValue] = [
        "platform": .text(platform.rawValue), "appID": .text(NewName.appID(project, platform)),
      ]
      if !options.origins.isEmpty { app["origins"] = .texts(options.origins) }
      if let name = options.name, let verification = options.verification {
        app["codes"] = .object(["name": .text(name), "verification": .text(verification)])
      }
      members["apps"] = .object((members["apps"]?.members ?? [:]).merging([id: .object(app)]) { $1 })
    }
    if !wasPlain { context.report("note: the file was written anew: comments in it are gone\n") }
    if options.name == nil {
      context.report(
        "note: no code is sent for \(id) until it has 'codes' in its file, or stands in 'apps' of the coordinator\n")
    }
    return try output(project, id, options.isPropertyList)
  }

  static let list = CommandEntry("list", "Lists the projects.", options: GroupOptions<DirectoryOptions>.self) {
    options, context in
    let files = try ProjectFiles(options.shared.path(context))
    let projects = files.projects.all.values.sorted { $0.id < $1.id }
    var table = TextTable("PROJECT", "NUMBER", "METHODS", "APPS")
    table.rows = projects.map { project in
      let methods = project.methods.map(\.rawValue).sorted()
      return [project.id, "\(project.number)", methods.joined(separator: ", "), "\(project.apps.count)"]
    }
    return CommandOutput(
      text: [projects.isEmpty ? "no projects" : table.text, ProjectFiles.text(files.problems)]
        .filter { !$0.isEmpty }.joined(separator: "\n"),
      json: .object([
        "projects": .array(projects.map(ProjectCommand.json)),
        "problems": .texts(files.problems.map(\.description)),
      ]))
  }

  struct ShowOptions: CommandOptions {
    let place: DirectoryOptions
    let project: String
    let app: String?
    let isPropertyList: Bool

    init(_ reader: OptionReader) {
      place = reader.inherited()
      isPropertyList = reader.flag("plist", "Print GoogleService-Info.plist of the app.")
      project = reader.operand("PROJECT", "ID of the project.")
      app = reader.optionalOperand("APP", "ID of the app: bundle ID, package name, name of a web app.")
    }
  }

  static let show = CommandEntry(
    "show", "Shows a project, or what one of its apps needs to know.", options: ShowOptions.self
  ) { options, context in
    let project = try ProjectFiles(options.place.path(context)).project(options.project)
    guard let id = options.app else {
      if options.isPropertyList { throw CommandLineError(.usage, "--plist needs the operand APP") }
      return output(project)
    }
    guard let app = project.app(id: id) else {
      let known = project.apps.map(\.id).sorted().joined(separator: ", ")
      throw CommandLineError(.badInput, "the project \(project.id) has no app \(id); it has: \(known)")
    }
    if app.platform != .ios, options.isPropertyList {
      throw CommandLineError(
        .usage, "--plist belongs to Apple apps; \(id) is one of platform \(app.platform.rawValue)")
    }
    return try output(project, app.id, options.isPropertyList)
  }
}

extension ProjectCommand {
  private static func output(_ project: Project, _ id: String, _ isPropertyList: Bool) throws -> CommandOutput {
    guard let app = project.app(id: id) else { throw CommandLineError(.internalError, "no app") }
    let settings = SDKSettings(project: project, app: app)
    return CommandOutput(text: isPropertyList ? settings.propertyList : settings.text, json: settings.json)
  }

  static func output(_ project: Project) -> CommandOutput { CommandOutput(text: text(project), json: json(project)) }

  private static func text(_ project: Project) -> String {
    let methods = project.methods.map(\.rawValue).sorted().joined(separator: ", ")
    let rows = [
      ("project", project.id), ("number", "\(project.number)"),
      ("API keys", project.apiKeys.sorted().joined(separator: ", ")),
      ("auth domain", project.authDomain ?? "none"),
      ("domains", project.authorizedDomains.isEmpty ? "none" : project.authorizedDomains.joined(separator: ", ")),
      ("methods", methods.isEmpty ? "none" : methods),
    ]
    let facts = project.providers.sorted { $0.key < $1.key }.map { ($0.key, $0.value.text) }
    let lines = (rows + facts).map { $0 + String(repeating: " ", count: max(1, 13 - $0.count)) + $1 }
    guard !project.apps.isEmpty else { return lines.joined(separator: "\n") }
    var table = TextTable("APP", "PLATFORM", "APP ID", "ORIGINS")
    table.rows = project.apps.sorted { $0.id < $1.id }.map {
      [$0.id, $0.platform.rawValue, $0.appID, $0.origins.joined(separator: ", ")]
    }
    return lines.joined(separator: "\n") + "\n\n" + table.text
  }

  private static func json(_ project: Project) -> JSONValue {
    .object([
      "id": .text(project.id), "number": .text("\(project.number)"),
      "apiKeys": .array(project.apiKeys.sorted().map { .text($0) }), "authDomain": .optional(project.authDomain),
      "authorizedDomains": .array(project.authorizedDomains.map { .text($0) }),
      "methods": .array(project.methods.map(\.rawValue).sorted().map { .text($0) }),
      "providers": .object(project.providers.mapValues(\.json)),
      "apps": .array(
        project.apps.sorted { $0.id < $1.id }.map { SDKSettings(project: project, app: $0).json }),
    ])
  }
}

extension Project.ProviderFacts {
  fileprivate var text: String {
    (clientIDs.map { "client \($0)" } + [appID].compactMap { $0 }.map { "app \($0)" }).joined(separator: ", ")
  }

  fileprivate var json: JSONValue {
    .object([
      "clientIDs": .texts(clientIDs), "appID": .optional(appID), "teamID": .optional(teamKey?.teamID),
      "keyID": .optional(teamKey?.keyID),
    ])
  }
}

private enum NewName {
  /// 39 characters that need no escaping in a URL. Apple's SDKs expect that length, and an A first.
  static func apiKey() -> String { "A" + Base64URL.encode(SecureRandom.bytes(29)).prefix(38) }

  static func appID(_ project: Project, _ platform: ProjectApp.Platform) -> String {
    "1:\(project.number):\(platform.rawValue):\(Hexadecimal.encode(SecureRandom.bytes(11)))"
  }
}
