// From `ActionText.problem` on.
extension ActionTexts {
  static let englishSignIn = [
    "That did not work", "One moment, please.", "Done. You can close this window.",
    "You are not signed in. Please go back to the app and start again.",
    "This browser keeps no data for this page. Please allow it in the settings, go back to the app and start again.",
    "Only an app can open this page. Please go back to the app and start again.",
    "This way to sign in is switched off. Please go back to the app and choose another one.",
    "This page needs JavaScript. Please switch it on in the browser, and start again.",
    "A short check", "The check did not work. Please go back to the app and try again.",
    "Back to the app",
  ]

  static let germanSignIn = [
    "Das hat nicht geklappt", "Einen Moment, bitte.", "Fertig. Sie können dieses Fenster schließen.",
    "Sie sind nicht angemeldet. Bitte gehen Sie zurück zur App und beginnen Sie noch einmal.",
    "Dieser Browser speichert für diese Seite keine Daten. Bitte erlauben Sie es in den Einstellungen, gehen Sie zurück zur App und beginnen Sie noch einmal.",
    "Nur eine App kann diese Seite öffnen. Bitte gehen Sie zurück zur App und beginnen Sie noch einmal.",
    "Diese Art der Anmeldung ist ausgeschaltet. Bitte gehen Sie zurück zur App und wählen Sie eine andere.",
    "Diese Seite braucht JavaScript. Bitte schalten Sie es im Browser ein und beginnen Sie noch einmal.",
    "Eine kurze Prüfung", "Die Prüfung ist fehlgeschlagen. Bitte gehen Sie zurück zur App und versuchen Sie es erneut.",
    "Zurück zur App",
  ]

  static let spanishSignIn = [
    "No ha funcionado", "Un momento, por favor.", "Listo. Ya puede cerrar esta ventana.",
    "No ha iniciado sesión. Vuelva a la app y empiece de nuevo.",
    "Este navegador no guarda datos de esta página. Permítalo en los ajustes, vuelva a la app y empiece de nuevo.",
    "Solo una app puede abrir esta página. Vuelva a la app y empiece de nuevo.",
    "Esta forma de iniciar sesión está desactivada. Vuelva a la app y elija otra.",
    "Esta página necesita JavaScript. Actívelo en el navegador y empiece de nuevo.",
    "Una breve comprobación", "La comprobación no ha funcionado. Vuelva a la app e inténtelo de nuevo.",
    "Volver a la app",
  ]

  static let frenchSignIn = [
    "Cela n’a pas fonctionné", "Un instant, s’il vous plaît.", "C’est fait. Vous pouvez fermer cette fenêtre.",
    "Vous n’êtes pas connecté. Veuillez revenir à l’app et recommencer.",
    "Ce navigateur ne conserve pas de données pour cette page. Veuillez l’autoriser dans les réglages, revenir à l’app et recommencer.",
    "Seule une app peut ouvrir cette page. Veuillez revenir à l’app et recommencer.",
    "Ce mode de connexion est désactivé. Veuillez revenir à l’app et en choisir un autre.",
    "Cette page a besoin de JavaScript. Veuillez l’activer dans le navigateur et recommencer.",
    "Une brève vérification", "La vérification n’a pas fonctionné. Veuillez revenir à l’app et réessayer.",
    "Revenir à l’app",
  ]

  static let brazilianSignIn = [
    "Não funcionou", "Um momento, por favor.", "Pronto. Você já pode fechar esta janela.",
    "Você não entrou. Volte ao app e comece de novo.",
    "Este navegador não guarda dados desta página. Permita isso nas configurações, volte ao app e comece de novo.",
    "Somente um app pode abrir esta página. Volte ao app e comece de novo.",
    "Esta forma de entrar está desativada. Volte ao app e escolha outra.",
    "Esta página precisa de JavaScript. Ative-o no navegador e comece de novo.",
    "Uma breve verificação", "A verificação não funcionou. Volte ao app e tente de novo.",
    "Voltar ao app",
  ]

  static let portugueseSignIn = [
    "Não funcionou", "Um momento, por favor.", "Concluído. Já pode fechar esta janela.",
    "Não iniciou sessão. Volte à app e comece de novo.",
    "Este navegador não guarda dados desta página. Permita-o nas definições, volte à app e comece de novo.",
    "Só uma app pode abrir esta página. Volte à app e comece de novo.",
    "Esta forma de iniciar sessão está desativada. Volte à app e escolha outra.",
    "Esta página precisa de JavaScript. Ative-o no navegador e comece de novo.",
    "Uma breve verificação", "A verificação não funcionou. Volte à app e tente novamente.",
    "Voltar à app",
  ]

  static let arabicSignIn = [
    "لم ينجح ذلك", "لحظة من فضلك.", "تم. يمكنك إغلاق هذه النافذة.",
    "لم يتم تسجيل دخولك. يرجى العودة إلى التطبيق والبدء من جديد.",
    "لا يحفظ هذا المتصفح بيانات هذه الصفحة. يرجى السماح بذلك في الإعدادات ثم العودة إلى التطبيق والبدء من جديد.",
    "لا يمكن فتح هذه الصفحة إلا من تطبيق. يرجى العودة إلى التطبيق والبدء من جديد.",
    "طريقة تسجيل الدخول هذه متوقفة. يرجى العودة إلى التطبيق واختيار طريقة أخرى.",
    "تحتاج هذه الصفحة إلى JavaScript. يرجى تفعيله في المتصفح والبدء من جديد.",
    "تحقق قصير", "لم ينجح التحقق. يرجى العودة إلى التطبيق والمحاولة مرة أخرى.",
    "العودة إلى التطبيق",
  ]

  static let bengaliSignIn = [
    "এটি কাজ করেনি", "অনুগ্রহ করে একটু অপেক্ষা করুন।", "হয়ে গেছে। আপনি এই উইন্ডোটি বন্ধ করতে পারেন।",
    "আপনি সাইন ইন করেননি। অনুগ্রহ করে অ্যাপে ফিরে গিয়ে আবার শুরু করুন।",
    "এই ব্রাউজার এই পৃষ্ঠার ডেটা সংরক্ষণ করে না। অনুগ্রহ করে সেটিংসে অনুমতি দিন, অ্যাপে ফিরে গিয়ে আবার শুরু করুন।",
    "শুধু একটি অ্যাপ এই পৃষ্ঠা খুলতে পারে। অনুগ্রহ করে অ্যাপে ফিরে গিয়ে আবার শুরু করুন।",
    "সাইন ইন করার এই উপায়টি বন্ধ আছে। অনুগ্রহ করে অ্যাপে ফিরে গিয়ে অন্য একটি বেছে নিন।",
    "এই পৃষ্ঠার জন্য JavaScript দরকার। অনুগ্রহ করে ব্রাউজারে এটি চালু করে আবার শুরু করুন।",
    "একটি ছোট যাচাই", "যাচাইটি কাজ করেনি। অনুগ্রহ করে অ্যাপে ফিরে গিয়ে আবার চেষ্টা করুন।",
    "অ্যাপে ফিরে যান",
  ]

  static let hindiSignIn = [
    "यह नहीं हो पाया", "कृपया एक क्षण प्रतीक्षा करें।", "हो गया। आप यह विंडो बंद कर सकते हैं।",
    "आप साइन इन नहीं हैं। कृपया ऐप पर वापस जाकर फिर से शुरू करें।",
    "यह ब्राउज़र इस पेज का डेटा नहीं रखता। कृपया सेटिंग में इसकी अनुमति दें, ऐप पर वापस जाएँ और फिर से शुरू करें।",
    "यह पेज केवल कोई ऐप खोल सकता है। कृपया ऐप पर वापस जाकर फिर से शुरू करें।",
    "साइन इन करने का यह तरीका बंद है। कृपया ऐप पर वापस जाकर कोई दूसरा चुनें।",
    "इस पेज के लिए JavaScript ज़रूरी है। कृपया इसे ब्राउज़र में चालू करके फिर से शुरू करें।",
    "एक छोटी जाँच", "जाँच नहीं हो पाई। कृपया ऐप पर वापस जाकर फिर प्रयास करें।",
    "ऐप पर वापस जाएँ",
  ]

  static let japaneseSignIn = [
    "うまくいきませんでした", "少々お待ちください。", "完了しました。このウィンドウを閉じてかまいません。",
    "サインインしていません。アプリに戻って、もう一度始めてください。",
    "このブラウザはこのページのデータを保存しません。設定で許可し、アプリに戻って、もう一度始めてください。",
    "このページはアプリからのみ開けます。アプリに戻って、もう一度始めてください。",
    "このサインイン方法は無効になっています。アプリに戻って、別の方法を選んでください。",
    "このページにはJavaScriptが必要です。ブラウザで有効にして、もう一度始めてください。",
    "簡単な確認", "確認できませんでした。アプリに戻って、もう一度お試しください。",
    "アプリに戻る",
  ]
}
