public import ServiceRuntime

/// The projects file of a process: its place and its content at the start.
public struct ProjectsFile: Sendable {
  /// The path as the configuration names it.
  public let path: String
  /// The projects. None while there are problems.
  public let projects: Projects
  /// Values that are allowed but probably unintended.
  public let warnings: [ConfigurationProblem]

  /// Reads the key `projectsFile` and the file that it names. Problems of both are reported to the section.
  public init(_ section: ConfigurationSection) {
    path = section.path("projectsFile", default: "projects.json5", "The file with projects, their API keys and apps.")
    do throws(ConfigurationError) {
      let loaded = try Self.load(path)
      (projects, warnings) = (loaded.content, loaded.warnings)
      if projects.all.isEmpty {
        section.warning(
          "projectsFile", "\(path) has no project, so sign-in is impossible: 'countersign project add' adds one")
      }
    } catch {
      for problem in error.problems { section.problem("projectsFile", problem.description) }
      (projects, warnings) = (Projects([]), [])
    }
  }

  /// A file that is not read.
  public init(path: String, projects: Projects) {
    (self.path, self.projects, warnings) = (path, projects, [])
  }

  /// Reads a projects file. Variables of the environment do not override it. Blocks.
  public static func load(_ path: String) throws(ConfigurationError) -> LoadedConfiguration<Projects> {
    try Projects.load(file: path, environment: [:])
  }
}
