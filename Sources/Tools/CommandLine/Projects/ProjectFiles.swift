import Coordination
import CountersignEncoding
import Projects
import ServiceRuntime

#if canImport(Glibc)
  import Glibc
#else
  import Musl
#endif

struct ProjectFiles {
  static let patience = Duration.seconds(10)
  private static let interval: useconds_t = 20_000

  let directory: ConfigurationDirectory<Project>
  let projects: Projects
  /// Of files that are wrong. The other projects can be shown and changed.
  let problems: [ConfigurationProblem]

  init(_ path: String) throws(CommandLineError) {
    guard access(path, F_OK) == 0 else {
      throw CommandLineError(.noInput, "the directory \(path) does not exist; 'countersign project add' makes it")
    }
    directory = .projects(path)
    let reading = directory.load()
    projects = Projects(Array(reading.contents.values))
    problems = reading.problems
  }

  func project(_ id: String) throws(CommandLineError) -> Project {
    if let project = projects[id] { return project }
    try checkFile(of: id)
    let known = projects.all.keys.sorted().joined(separator: ", ")
    throw CommandLineError(
      .badInput,
      "\(directory.path) has no project \(id)"
        + (known.isEmpty ? "; 'countersign project add' adds one" : "; it has: \(known)"))
  }

  private func checkFile(of id: String) throws(CommandLineError) {
    let own = problems(ofFileOf: id, among: problems)
    if !own.isEmpty { throw CommandLineError(.badInput, Self.text(own)) }
  }

  private func problems(ofFileOf id: String, among problems: [ConfigurationProblem]) -> [ConfigurationProblem] {
    let file = directory.path(of: id)
    // One of the whole directory concerns every file.
    return problems.filter { $0.place == directory.path || $0.place == file || $0.place.hasPrefix("\(file):") }
  }

  static func text(_ problems: [ConfigurationProblem]) -> String {
    problems.map(\.description).joined(separator: "\n")
  }

  // MARK: Changes

  /// Changes the file of a project, alone: the change of another command is over before, and stays.
  /// - Returns: the project as it is now, and whether its file was plain JSON, which has no comments to lose.
  static func change(
    _ id: String, in path: String, isMade: Bool = false, patience: Duration = patience,
    _ body: (ProjectFiles, inout [String: JSONValue]) throws(CommandLineError) -> Void
  ) throws(CommandLineError) -> (project: Project, wasPlain: Bool) {
    if isMade {
      let isNew = mkdir(path, 0o755) == 0
      // The processes have users of their own, whatever the umask.
      guard isNew ? chmod(path, 0o755) == 0 : errno == EEXIST else { throw unwritable(path) }
    }
    let lock = try locked(path, patience)
    defer { close(lock) }
    let files = try ProjectFiles(path)
    try files.checkFile(of: id)
    let file = files.directory.path(of: id)
    let old = files.projects[id] == nil ? nil : try InputFile.read(file)
    var members = old.flatMap { try? reader(.json5).value(of: $0).members } ?? [:]
    try body(files, &members)
    let new = Array((JSONValue.object(members).json(indented: true) + "\n").utf8)
    let reading = files.directory.load(with: (id: id, bytes: new))
    var problems = files.problems(ofFileOf: id, among: reading.problems)
    if problems.isEmpty {
      problems = files.problems(ofFileOf: id, among: ProjectCodes.problems(in: path, with: (id: id, bytes: new)))
    }
    guard problems.isEmpty, let project = reading.contents[id] else {
      let reasons = text(problems).replacing("\(file): ", with: "")
      throw CommandLineError(.badInput, "\(file) stays as it is, because it would become wrong: \(reasons)")
    }
    try replace(file, by: new, in: lock)
    return (project, old.map { (try? reader(.json).value(of: $0)) != nil } ?? true)
  }

  private static func reader(_ syntax: JSONReader.Syntax) -> JSONReader {
    JSONReader(maxBytes: InputFile.maxBytes, syntax: syntax)
  }

  /// Waits for the lock of the directory: each change puts a new file in the place of the old one, which therefore
  /// cannot have it. The kernel releases it however the process ends. Blocks.
  private static func locked(_ path: String, _ patience: Duration) throws(CommandLineError) -> Int32 {
    let descriptor = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    guard descriptor >= 0 else { throw unwritable(path) }
    let end = ContinuousClock.now + patience
    while flock(descriptor, LOCK_EX | LOCK_NB) != 0 {
      // Some network file systems lock no directories; the file is then written without a lock.
      guard errno == EWOULDBLOCK || errno == EINTR else { break }
      guard ContinuousClock.now < end else {
        close(descriptor)
        throw CommandLineError(.unavailable, "another command changes \(path): try again when it has ended")
      }
      usleep(interval)
    }
    return descriptor
  }

  /// Puts a file with the same owner and mode in the place of another, on the disk before it has its name.
  private static func replace(_ path: String, by content: [UInt8], in directory: Int32) throws(CommandLineError) {
    let slash = path.lastIndex(of: "/") ?? path.startIndex
    // Hidden, so that no process takes it for a project.
    let temporary = "\(path[..<slash])/.\(path[slash...].dropFirst()).\(UInt64.random(in: 0 ... .max))"
    var status = stat()
    let isThere = stat(path, &status) == 0
    let descriptor = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
    guard descriptor >= 0 else { throw unwritable(path) }
    defer {
      close(descriptor)
      unlink(temporary)
    }
    // Only the superuser gives files away; for others the group, or nothing, changes.
    if isThere, fchown(descriptor, status.st_uid, status.st_gid) != 0 {
      _ = fchown(descriptor, uid_t.max, status.st_gid)
    }
    var rest = content[...]
    while !rest.isEmpty {
      let count = rest.withUnsafeBytes { write(descriptor, $0.baseAddress, $0.count) }
      if count < 0, errno == EINTR { continue }
      guard count > 0 else { throw unwritable(path) }
      rest = rest.dropFirst(count)
    }
    guard fchmod(descriptor, isThere ? status.st_mode & 0o777 : 0o644) == 0, fsync(descriptor) == 0,
      rename(temporary, path) == 0
    else { throw unwritable(path) }
    // An error would concern the name after a loss of power only.
    fsync(directory)
  }

  private static func unwritable(_ path: String) -> CommandLineError {
    let code: CommandLineError.Code = errno == EACCES || errno == EPERM ? .notPermitted : .noInput
    return CommandLineError(code, "\(path) cannot be written: \(String(cString: strerror(errno)))")
  }
}

extension JSONValue {
  static func texts(_ texts: some Sequence<String>) -> JSONValue { .array(texts.map { .text($0) }) }
}
