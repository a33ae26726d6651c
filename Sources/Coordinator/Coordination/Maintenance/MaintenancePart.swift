/// A part of the maintenance. The word is its label in the metrics, and its name in `/readyz`.
enum MaintenancePart: String, Sendable, CaseIterable {
  case publishLeftovers = "publish_leftovers"
  case releaseHeldJobs = "release_held_jobs"
  case noteOutages = "note_outages"
  case endVerifications = "end_verifications"
  case storeBlocks = "store_blocks"
  case endOperations = "end_operations"
  case purgeReplies = "purge_replies"
  case purgeCounts = "purge_counts"
  case purgeOutbox = "purge_outbox"
}
