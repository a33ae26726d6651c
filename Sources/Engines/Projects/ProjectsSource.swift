public import CountersignTelemetry
public import ServiceRuntime
import Synchronization

/// The projects that are in force, which may change while the process runs.
public final class ProjectsSource: Sendable {
  private let box: Mutex<Projects>

  /// - Parameter projects: the projects in force at first.
  public init(_ projects: Projects) {
    box = Mutex(projects)
  }

  /// The projects in force now.
  public var current: Projects { box.withLock { $0 } }

  /// Puts projects in force.
  /// - Returns: whether they differ.
  @discardableResult
  public func take(_ projects: Projects) -> Bool {
    box.withLock { current in
      defer { current = projects }
      return current != projects
    }
  }
}

extension FileWatcher {
  /// Keeps a source at what its file says.
  public static func projects(
    _ path: String, _ source: ProjectsSource, log: Logger, metrics: MetricsRegistry
  ) -> FileWatcher {
    FileWatcher(
      path, name: "projects", refusal: "the projects file has changed and is wrong: projects stay as they are",
      log: log,
      reads: metrics.counter(
        "countersign_projects_reads_total", "Changes of the projects file that were taken, or refused.",
        labels: ["outcome"]),
      isCurrent: metrics.gauge(
        "countersign_projects_file_current",
        "1 while the projects in force are those of the file; 0 while the file is wrong or unreadable.")
    ) { () throws(ConfigurationError) in
      let loaded = try ProjectsFile.load(path)
      guard source.take(loaded.content) else { return false }
      for warning in loaded.warnings {
        log.warning("configuration warning", ["place": warning.place, .hint: warning.text])
      }
      if loaded.content.all.isEmpty {
        log.warning(
          "projects changed: none is left", ["file": path, .hint: "all calls are refused until the file has a project"])
      } else {
        log.info("projects changed", ["file": path, "projects": loaded.content.all.count])
      }
      return true
    }
  }
}
