import CommandEngine
import CountersignCryptography
import CountersignMessages
import CountersignTelemetry

/// A flow is a folder and one line here: see docs/adding-a-flow.md.
struct Flows: Sendable {
  let registry: FlowRegistry

  struct Secrets: Sendable {
    var codes: VerificationCodes
    var hashes: KeyedHashes
    var keys: KeyRing
  }

  init(
    _ rules: CoordinatorRules, _ secrets: Secrets, metrics: CoordinatorMetrics, logger: Logger,
    conversion: ConversionFlow, fictional: FictionalNumbers? = nil
  ) {
    let (codes, hashes, keys) = (secrets.codes, secrets.hashes, secrets.keys)
    let sealer = Sealer(keys: keys)
    let conversions = conversion.conversions
    let limits = RateLimits(limits: rules.limits, subjects: hashes.subjects)
    let records = VerificationRecords(rules, conversions: conversions)
    let smsJobs = SMSJobs(sealer: sealer, onUnknown: rules.onUnknown)
    let appProofs = AppProofService(rules, hashes: hashes, limits: limits, metrics: metrics)
    let gate = ProofGate(
      rules, appProofs: appProofs, sealer: sealer, limits: limits, conversions: conversions, verifications: records,
      metrics: metrics)
    let verifications = VerificationService(
      rules, codes: codes, jobs: smsJobs, limits: limits, gate: gate, records: records, metrics: metrics,
      logger: logger)
    let starts = StartDecoder(
      verifications, proofs: ProofDecoder(hashes: hashes, keys: keys), requesters: hashes,
      fictional: fictional ?? FictionalNumbers(rules))
    // The maintenance visits them in this order: an outage is noted before anything is ended that it excuses.
    registry = FlowRegistry(
      [
        conversion,
        VerificationFlow(
          rules, service: verifications, starts: starts, keys: keys,
          eraser: NumberEraser(rules, limits: limits, records: records, metrics: metrics)),
        AppProofFlow(rules: rules, hashes: hashes, sealer: sealer, service: appProofs),
        AssessmentFlow(service: AssessmentService(rules, starts: starts, verifications: verifications)),
        RevocationFlow(rules, hashes: hashes, keys: keys, limits: limits, metrics: metrics), ActsFlow(),
        DevelopmentFlow(rules: rules, metrics: metrics),
      ],
      missingFields: [
        "phoneNumber": .missingPhoneNumber, "app": .missingApp, "deviceToken": .missingDeviceToken,
      ])
  }
}
