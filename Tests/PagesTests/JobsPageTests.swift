import CountersignMessages
import ServiceRuntime
import Testing

@testable import CommandLine
@testable import CrashMarks
@testable import JobEngine

@Suite struct JobsPageTests {
  private let page: Page

  init() throws {
    page = try Page("docs/jobs.md")
  }

  @Test func `The ledger keeps and bounds what the page says`() throws {
    let options = JobWorkerOptions(queue: "q", author: Author(appID: "p", userID: "u"))
    page.expect("until `ledger.retentionHours` (\(options.retention.hours)) after its deadline")
    page.expect("SMPP jobs are kept for \(word(options.matchedRetention.hours / 24)) days")
    page.expect("Every \(LedgerPurge.interval.seconds) s the worker forgets what is over")
    page.expect("look again in \(JobLifecycle.heldDelay.seconds) s")
    for file in ["sms-worker", "push-worker", "revocation-worker", "mail-worker"] {
      try Page("Config/\(file).json5").expect("retentionHours: \(options.retention.hours)")
    }
  }

  @Test func `A stop ends as long after its ceiling as canceled services have`() {
    page.expect("within \(word(ServiceGroup.graceAfterCancellation.seconds)) seconds of it")
  }

  @Test func `Times and counts of the search for a message that crashes the process`() {
    page.expect("up to \(MarkPlan.maxGroup) in one commit")
    page.expect("it waits for work under way, at most \(CrashMarks.quietPatience.seconds) s")
    page.expect("a message is alone for \(word(CrashMarks.patience.seconds)) seconds at most")
    page.expect(
      "A message that \(word(MarkPlan.maxDeaths)) processes died of while it was alone is buried as `CRASHED`")
    page.expect("deleted after \(SQLiteMarkStore.retention.hours) hours")
    #expect(MarkPlan.lastDelivery == 20)
    page.expect("Where no file can be kept, the twentieth delivery of a message is its last.")
  }

  @Test func `The most deliveries of an innocent message are worked out from them, and lie below the broker's limit`() {
    let prefetch = 512
    func most(culprits: Int) -> Int {
      2 + min(culprits, prefetch / MarkPlan.maxGroup) + MarkPlan.maxDeaths * culprits
    }
    page.expect("*g* ≤ *P*/\(MarkPlan.maxGroup)")
    page.expect("more than 2 + *g* + \(MarkPlan.maxDeaths)*k* times")
    page.expect(
      """
      \(word(most(culprits: 1))) deliveries next to one culprit, \(grouped(most(culprits: prefetch - 1))) if all \
      \(prefetch - 1) neighbors in a prefetch of \(prefetch) are culprits
      """)
    page.expect("The broker's limit of \(grouped(PolicyDeclaration.deliveryLimit)) lies above that.")
    #expect(Int64(most(culprits: prefetch - 1)) < PolicyDeclaration.deliveryLimit)
  }

  @Test func `With several hosts the prefetch is at most twice the concurrency`() {
    #expect(WorkerSettings.prefetchPerSlotOfSeveralHosts == 2)
    page.expect("prefetch is at most twice the lanes' concurrency")
  }
}
