import CommandEngine
import CountersignTelemetry

extension StageAccess {
  /// Reads the accounts of a project, page by page.
  /// - Parameters:
  ///   - behind: ID behind which the walk begins.
  ///   - body: takes a page. The walk ends when it returns `false`.
  /// - Throws: `unavailable` once the stage has run out of time.
  func walk(
    accountsOf project: String, behind: String = "",
    _ body: (_ records: [Record]) async throws(StoreError) -> Bool
  ) async throws(StoreError) {
    let group = try AccountRecord.group(ofProject: project)
    var place: String? = behind
    while let behind = place {
      if Task.isCancelled { throw StoreError(.unavailable, "a walk through all accounts takes too long") }
      let page = StoreKeys.GroupPage(behind: behind)
      let (records, isComplete) = try await store.read(StoreKeys(), at: now()) { set throws(StoreError) in
        try set.group(group, page)
      }
      guard try await body(records), !isComplete else { return }
      place = records.last?.id.text
    }
  }
}
