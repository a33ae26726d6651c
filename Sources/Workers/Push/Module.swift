/// The push worker: silent pushes that prove an app, and the assessment of reCAPTCHA tokens.
