/// The coordinator: phone verifications, their limits, their store, and the outbox.
