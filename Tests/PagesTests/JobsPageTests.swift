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
    page.expect(
      "(\(options.retention.hours))", "\(word(options.matchedRetention.hours / 24)) days",
      "\(LedgerPurge.interval.seconds) s", "\(JobLifecycle.heldDelay.seconds) s")
    for file in ["sms-worker", "push-worker", "revocation-worker", "mail-worker"] {
      try Page("Config/\(file).json5").expect(
        "retentionHours: \(options.retention.hours)", "leaseMarginSeconds: \(options.rules.leaseMargin.seconds)")
    }
    page.expect(
      "`ledger.leaseMarginSeconds` (\(options.rules.leaseMargin.seconds))",
      "of \(JobRules.leaseMargins.lowerBound.seconds) at least")
  }

  @Test func `A stop ends as long after its ceiling as canceled services have`() {
    page.expect("\(word(ServiceGroup.graceAfterCancellation.seconds)) seconds")
  }

  @Test func `Times and counts of the search for a message that crashes the process`() {
    page.expect(
      "\(MarkPlan.maxGroup) in one commit", "\(CrashMarks.quietPatience.seconds) s",
      "\(word(CrashMarks.patience.seconds)) seconds", "\(word(MarkPlan.maxDeaths)) processes", "`CRASHED`",
      "\(RecordMarks.retention.hours) hours")
    #expect(MarkPlan.lastDelivery == 20)
    page.expect("twentieth delivery")
  }

  @Test func `The most deliveries of an innocent message are worked out from them, and lie below the broker's limit`() {
    let prefetch = 512
    func most(culprits: Int) -> Int {
      2 + min(culprits, prefetch / MarkPlan.maxGroup) + MarkPlan.maxDeaths * culprits
    }
    page.expect(
      "*g* ≤ *P*/\(MarkPlan.maxGroup)", "2 + *g* + \(MarkPlan.maxDeaths)*k*", "\(word(most(culprits: 1))) deliveries",
      grouped(most(culprits: prefetch - 1)), grouped(PolicyDeclaration.deliveryLimit))
    #expect(Int64(most(culprits: prefetch - 1)) < PolicyDeclaration.deliveryLimit)
  }
}
