import Projects
public import ServiceRuntime

/// Apps that the projects' files give `codes`, beside those of the coordinator's own configuration.
struct ProjectApps: Sendable, Hashable {
  let byProject: [String: [String: AppProfile]]
  let all: [String: AppProfile]

  init(_ byProject: [String: [String: AppProfile]]) {
    self.byProject = byProject
    all = byProject.values.reduce(into: [:]) { $0.merge($1) { first, _ in first } }
  }
}

extension ConfigurationDirectory<[String: AppProfile]> {
  /// Accounts and gateway read the rest of the files. `file` names the coordinator's own configuration in messages.
  static func apps(_ path: String, besides apps: some Sequence<String>, of file: String) -> Self {
    let reserved = apps.map { ("app \($0)", "\(file): apps.\($0)", "") as UniqueName }
    return projects(
      path, reserved: reserved,
      names: { apps in
        apps.keys.sorted().map {
          ("app \($0)", "apps.\($0).codes", "an app gets them in one place: keep one of them") as UniqueName
        }
      },
      read: { _, section in AppProfile.ofProject(section) })
  }
}

extension AppProfile {
  fileprivate static func ofProject(_ section: ConfigurationSection) -> [String: AppProfile] {
    let apps = section.namedSections("apps", "The apps, by bundle ID, package name or, for web apps, a name.")
    section.acceptOthers()
    return apps.reduce(into: [:]) { profiles, app in
      profiles[app.name] = app.section.optionalSection("codes").map { AppProfile(app.name, $0) }
      app.section.acceptOthers()
    }
  }
}

/// Codes of a project's apps, for commands that write its file.
public enum ProjectCodes {
  /// Ways in which an app can be proven, as the key `verification` names them.
  public static let verifications = AppVerification.allCases.map(\.rawValue)

  /// Problems that the coordinator would have with a project's file.
  public static func problems(in path: String, with new: (id: String, bytes: [UInt8])) -> [ConfigurationProblem] {
    ConfigurationDirectory<[String: AppProfile]>.apps(path, besides: [String](), of: "").load(with: new).problems
  }
}
