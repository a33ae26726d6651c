/// The coordinator: phone verifications, proofs of apps, revocations, their limits, their store, and the outbox.
