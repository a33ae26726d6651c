import CommandEngine
import CountersignTelemetry
import Projects

/// Settings of a project that administrators can change: theirs go before those of the project's file.
struct ProjectSettings: Sendable, Hashable {
  var allowsDuplicateEmails: Bool
  var protectsAddresses: Bool

  private init(_ project: Project) {
    allowsDuplicateEmails = project.allowsDuplicateEmails
    protectsAddresses = project.protectsAddresses
  }

  static func find(_ project: Project, in set: WorkingSet) throws(StoreError) -> ProjectSettings {
    ProjectSettings(project)
  }
}
