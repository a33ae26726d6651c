import CommandEngine
import CountersignEncoding
import CountersignMessages
import CountersignTelemetry
import Projects

/// Settings of a project that administrators can change: theirs go before those of the project's file.
struct ProjectSettings: Sendable, Hashable {
  static let kind = RecordKind("projectSettings")

  var allowsDuplicateEmails: Bool
  var protectsAddresses: Bool
  /// Whether the end of duplicates has begun, and has not been carried out.
  let isTakingAddresses: Bool

  /// As the record has them. Those that were never set are absent.
  struct Changes: Sendable, Hashable {
    var allowsDuplicateEmails: Bool?
    var protectsAddresses: Bool?
    /// Counts with ``allowsDuplicateEmails``.
    var isTakingAddresses = false
  }

  private init(_ project: Project, _ changes: Changes?) {
    allowsDuplicateEmails = changes?.allowsDuplicateEmails ?? project.allowsDuplicateEmails
    protectsAddresses = changes?.protectsAddresses ?? project.protectsAddresses
    isTakingAddresses = changes?.isTakingAddresses ?? false
  }

  private static func id(_ project: String) -> RecordID? { RecordID(kind, project) }

  static func addKeys(of project: String, to keys: inout StoreKeys) {
    if let id = id(project) { keys.add(record: id) }
  }

  static func find(_ project: Project, in set: WorkingSet) throws(StoreError) -> ProjectSettings {
    ProjectSettings(project, try changes(of: project.id, in: set))
  }

  private static func changes(of project: String, in set: WorkingSet) throws(StoreError) -> Changes? {
    guard let id = id(project), let record = try set.record(id) else { return nil }
    return try Changes(record)
  }

  /// Takes over what a command names.
  static func change(
    _ project: Project, _ new: Changes, in set: inout WorkingSet
  ) throws(StoreError) -> ProjectSettings {
    guard let id = id(project.id) else { throw StoreError.unreadableBody }
    var changes = try changes(of: project.id, in: set) ?? Changes()
    if let allows = new.allowsDuplicateEmails {
      (changes.allowsDuplicateEmails, changes.isTakingAddresses) = (allows, new.isTakingAddresses)
    }
    changes.protectsAddresses = new.protectsAddresses ?? changes.protectsAddresses
    try set.store(id, changes, dueAt: nil, discardAt: nil)
    return ProjectSettings(project, changes)
  }
}

extension ProjectSettings.Changes: StoredRecord {
  init(_ record: Record, _ fields: inout FieldCoder, _ changes: Self?) {
    allowsDuplicateEmails = fields.choice(1, changes?.allowsDuplicateEmails)
    protectsAddresses = fields.choice(2, changes?.protectsAddresses)
    isTakingAddresses = fields.flag(3, changes?.isTakingAddresses)
  }
}

extension FieldCoder {
  /// Yes, no, or nothing.
  fileprivate mutating func choice(_ tag: UInt8, _ choice: Bool?) -> Bool? {
    optional(tag, choice.map { $0 ? 1 : 0 }).map { $0 == 1 }
  }
}
