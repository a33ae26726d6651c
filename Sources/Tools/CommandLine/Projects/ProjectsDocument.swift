import CountersignEncoding
import FoundationEssentials
import Projects
import ServiceRuntime

#if canImport(Glibc)
  import Glibc
#else
  import Musl
#endif

/// A projects file that commands read and add to. What stands in it, comments included, stays as it is.
struct ProjectsDocument {
  /// Time that a change waits for one of another command.
  static let patience = Duration.seconds(10)

  let path: String
  private(set) var text: [UInt8]
  private(set) var projects: Projects

  /// Content of a file that is made for the first project.
  private static let empty = """
    // Projects whose apps sign users in; every key is explained in Config/projects.json5. accounts and gateway read it again
    // a few seconds after it has changed.
    {
      projects: {
      },
    }

    """

  init(_ path: String, isMade: Bool = false) throws(CommandLineError) {
    self.path = path
    if isMade, access(path, F_OK) != 0, errno == ENOENT {
      (text, projects) = (Array(Self.empty.utf8), Projects([]))
      return
    }
    text = try InputFile.read(path)
    projects = try Self.load(path)
  }

  private static func load(_ path: String) throws(CommandLineError) -> Projects {
    do throws(ConfigurationError) { return try ProjectsFile.load(path).content } catch {
      throw CommandLineError(.badInput, error.description)
    }
  }

  func project(_ id: String) throws(CommandLineError) -> Project {
    if let project = projects[id] { return project }
    let known = projects.all.keys.sorted().joined(separator: ", ")
    throw CommandLineError(
      .badInput,
      "\(path) has no project \(id)" + (known.isEmpty ? "; 'countersign project add' adds one" : "; it has: \(known)"))
  }

  // MARK: Additions

  /// Reads a file and changes it, alone: the change of another command is over before, and stays.
  static func change<Value>(
    _ path: String, isMade: Bool = false, patience: Duration = patience,
    _ body: (inout ProjectsDocument) throws(CommandLineError) -> Value
  ) throws(CommandLineError) -> Value {
    let lock = try DirectoryLock(of: target(of: path), patience: patience)
    defer { lock.release() }
    var document = try ProjectsDocument(path, isMade: isMade)
    return try body(&document)
  }

  mutating func add(_ project: Project) throws(CommandLineError) {
    guard projects[project.id] == nil else {
      throw CommandLineError(.badInput, "\(path) has a project \(project.id) already")
    }
    let member = Self.lines(project)
    let outline = JSON5Outline(text)
    let added =
      outline.has(["projects"])
      ? outline.adding(member, to: ["projects"])
      : outline.adding(["projects: {"] + member.dropLast().map { "  " + $0 } + ["  },", "}"], to: [])
    try replace(by: added) { $0[project.id] == project }
  }

  mutating func add(_ app: ProjectApp, to project: Project) throws(CommandLineError) {
    if let owner = projects.all.values.first(where: { $0.app(id: app.id) != nil }) {
      throw CommandLineError(.badInput, "the project \(owner.id) of \(path) has an app \(app.id) already")
    }
    let member = Self.lines(app)
    let outline = JSON5Outline(text)
    let apps = ["projects", project.id, "apps"]
    let added =
      outline.has(apps)
      ? outline.adding(member, to: apps)
      : outline.adding(["apps: {"] + member.dropLast().map { "  " + $0 } + ["  },", "}"], to: apps.dropLast())
    try replace(by: added) { $0[project.id]?.app(id: app.id) == app }
  }

  private static func lines(_ project: Project) -> [String] {
    let methods = Project.Method.allCases.map { "\($0.rawValue): \(project.methods.contains($0))" }
    return [
      "\(quoted(project.id)): {",
      "  number: \(project.number),",
      "  apiKeys: \(list(project.apiKeys.sorted())),",
    ] + (project.authDomain.map { ["  authDomain: \(quoted($0)),"] } ?? []) + [
      "  authorizedDomains: \(list(project.authorizedDomains)),",
      "  methods: { \(methods.joined(separator: ", ")) },",
      "  apps: {",
      "  },",
      "}",
    ]
  }

  private static func lines(_ app: ProjectApp) -> [String] {
    let origins = app.origins.isEmpty ? "" : " origins: \(list(app.origins)),"
    return [
      "\(quoted(app.id)): {",
      "  platform: \(quoted(app.platform.rawValue)), appID: \(quoted(app.appID)),\(origins)",
      "}",
    ]
  }

  private static func list(_ texts: [String]) -> String { "[" + texts.map(quoted).joined(separator: ", ") + "]" }

  private static func quoted(_ text: String) -> String { JSONValue.text(text).json() }

  // MARK: Writing

  /// Replaces the file by a new one with the same rights, provided that the new one is valid and has what was added.
  private mutating func replace(
    by new: [UInt8]?, _ isThere: (Projects) -> Bool
  ) throws(CommandLineError) {
    guard let new else {
      throw CommandLineError(
        .badInput,
        "the place in \(path) is not found: write project and app into it by hand, as Config/projects.json5 shows")
    }
    let target = Self.target(of: path)
    let temporary = "\(target).\(UInt64.random(in: 0 ... .max)).new"
    defer { unlink(temporary) }
    try Self.create(temporary, new, like: target)
    let projects: Projects
    do throws(ConfigurationError) { projects = try ProjectsFile.load(temporary).content } catch {
      let problems = error.description.replacing("\(temporary): ", with: "")
      throw CommandLineError(.badInput, "\(path) stays as it is, because it would become wrong: \(problems)")
    }
    guard isThere(projects) else {
      throw CommandLineError(
        .badInput, "\(path) stays as it is: write project and app into it by hand, as Config/projects.json5 shows")
    }
    guard rename(temporary, target) == 0 else { throw Self.unwritable(path) }
    (text, self.projects) = (new, projects)
  }

  private static func target(of path: String) -> String {
    guard let resolved = realpath(path, nil) else { return path }
    defer { free(resolved) }
    return String(cString: resolved)
  }

  /// Writes a new file with mode and, if permitted, owner of another, and brings it to the disk.
  private static func create(_ path: String, _ content: [UInt8], like other: String) throws(CommandLineError) {
    var status = stat()
    let isThere = stat(other, &status) == 0
    let descriptor = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
    guard descriptor >= 0 else { throw unwritable(other) }
    defer { close(descriptor) }
    // Only the superuser gives files away; for others the group, or nothing, changes.
    if isThere, fchown(descriptor, status.st_uid, status.st_gid) != 0 {
      _ = fchown(descriptor, uid_t.max, status.st_gid)
    }
    var rest = content[...]
    while !rest.isEmpty {
      let count = rest.withUnsafeBytes { write(descriptor, $0.baseAddress, $0.count) }
      if count < 0, errno == EINTR { continue }
      guard count > 0 else { throw unwritable(other) }
      rest = rest.dropFirst(count)
    }
    guard fchmod(descriptor, isThere ? status.st_mode & 0o777 : 0o644) == 0, fsync(descriptor) == 0 else {
      throw unwritable(other)
    }
  }

  private static func unwritable(_ path: String) -> CommandLineError {
    let code: CommandLineError.Code = errno == EACCES || errno == EPERM ? .notPermitted : .noInput
    return CommandLineError(code, "\(path) cannot be written: \(String(cString: strerror(errno)))")
  }
}
