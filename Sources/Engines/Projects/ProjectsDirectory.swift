import CountersignTelemetry
public import ServiceRuntime

/// The projects in force, which may change while the process runs.
public typealias ProjectsSource = LiveValue<Projects>

/// The projects' directory of a process: its place and its content at the start.
public struct ProjectsDirectory: Sendable {
  /// The key of the configuration that names it.
  public static let key = "projectsDirectory"

  public let directory: ConfigurationDirectory<Project>
  /// The projects whose files are right.
  public let projects: Projects

  /// Reads the key `projectsDirectory` and the files of that directory. Problems of both are reported to the section.
  /// - Parameter isDevelopment: whether the process is in development mode, which `emulatorTokens` needs.
  public init(_ section: ConfigurationSection, isDevelopment: Bool) {
    Self.refuseFormerKey(section)
    let path = section.path(Self.key, default: "projects", "The directory with the file ID.json5 of each project.")
    if !isDevelopment {
      for project in ConfigurationDirectory<Project>.projects(path).load().contents.values where project.emulatorTokens
      {
        section.problem(
          Self.key, "\(path)/\(project.id).json5: emulatorTokens lets everybody sign in as anybody; take it out")
      }
    }
    directory = .projects(path, isDevelopment: isDevelopment)
    projects = Projects(Array(directory.contents(section, Self.key).values))
    if projects.all.isEmpty, directory.isEmpty {
      section.warning(
        Self.key,
        "\(directory.path) has no project, so sign-in is impossible: 'countersign project add' adds one")
    }
  }

  /// Reports the key of the time when all projects stood in one file.
  public static func refuseFormerKey(_ section: ConfigurationSection) {
    let former = "projectsFile"
    guard section.isGiven(former) else { return }
    section.accept(former)
    section.problem(former, "is \(key) now, which names a directory with a file ID.json5 for each project")
  }
}

extension ConfigurationDirectory<Project> {
  /// Projects as accounts and the gateway read them.
  /// - Parameter isDevelopment: whether the reader is in development mode. `true` also for readers that sign no one in.
  public static func projects(_ path: String, isDevelopment: Bool = true) -> Self {
    projects(
      path, names: { $0.names },
      read: { id, section in
        let project = Project(id: id, section)
        section.check(
          "emulatorTokens", isDevelopment || !project.emulatorTokens,
          "lets everybody sign in as anybody, and needs development mode; take it out")
        return project
      })
  }
}

extension ConfigurationDirectory {
  /// Files of projects, of which a process reads what concerns it.
  public static func projects(
    _ path: String, reserved: [UniqueName] = [], names: @escaping @Sendable (Content) -> [UniqueName],
    read: @escaping @Sendable (_ id: String, ConfigurationSection) -> Content
  ) -> Self {
    Self(
      path, idForm: ProjectForms.projectIDForm, isID: { ProjectForms.isProjectID($0) }, reserved: reserved,
      names: names, read: read)
  }
}

extension FileWatcher {
  /// Keeps projects in force at what their files say.
  public static func projects(
    _ directory: ConfigurationDirectory<Project>, _ source: ProjectsSource, _ context: ServiceContext
  ) -> FileWatcher {
    projects(
      directory, context, previous: { source.current.all }, take: { source.take(Projects(Array($0.values))) })
  }

  /// Keeps what a process reads of projects at what their files say. `/readyz` and the doctor are told of wrong ones.
  /// - Parameters:
  ///   - previous: contents in force, by ID of the project.
  ///   - take: puts contents in force, and returns whether they differ.
  public static func projects<Content>(
    _ directory: ConfigurationDirectory<Content>, _ context: ServiceContext,
    previous: @escaping @Sendable () -> [String: Content], take: @escaping @Sendable ([String: Content]) -> Bool
  ) -> FileWatcher {
    let log = context.logger
    // A file may be absent for a moment, while another program writes it: two looks in a row tell that it is removed.
    let (absent, removed) = (LiveValue<Set<String>>([]), LiveValue<Set<String>>([]))
    let watcher = FileWatcher(
      directory.path, name: "projects", refusal: "a projects file is wrong: its project stays as it was",
      log: log,
      metrics: (
        context.metrics.counter(
          "countersign_projects_reads_total",
          "Changes of the projects' files that were taken, or of which one was refused.",
          labels: ["outcome"]),
        context.metrics.gauge(
          "countersign_projects_file_current",
          "1 while the projects in force are those of the files; 0 while a file is wrong or unreadable.")
      ),
      read: { () throws(ConfigurationError) in
        let found = try directory.look(previous().keys)
        removed.take(found.absent.intersection(absent.current))
        absent.take(found.absent)
        // Another text than that of the next look, which takes the removal.
        return found.bytes + found.absent.subtracting(removed.current).sorted().flatMap { Array($0.utf8) }
      },
      apply: { () throws(ConfigurationError) in
        let reading = directory.load(previous: previous(), removed: removed.current)
        let isNew = take(reading.contents)
        if isNew {
          for warning in reading.warnings {
            log.warning("configuration warning", ["place": warning.place, .hint: warning.text])
          }
          log.info("projects changed", ["directory": directory.path, "projects": reading.contents.count])
        }
        guard reading.problems.isEmpty else { throw ConfigurationError(reading.problems) }
        return isNew
      })
    // File names alone: everybody who reaches the health port reads them.
    let wrong: @Sendable () -> String? = {
      watcher.problem?.replacing(directory.path + "/", with: "").replacing(directory.path, with: "the directory")
    }
    context.health.register(
      "projects", detail: { wrong().map { "as they were, or left out at the start, because of a wrong file: \($0)" } },
      check: { .ok })
    context.runtime.add { $0.wrongProjects = wrong() }
    return watcher
  }
}
