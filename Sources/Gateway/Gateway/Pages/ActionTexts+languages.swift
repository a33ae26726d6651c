extension ActionTexts {
  static let englishTexts = [
    "Confirm your address", "Confirm", "Your address is confirmed.",
    "Choose a new password", "New password", "Save", "Your new password is saved. You can sign in with it now.",
    "This password is too simple. It needs at least {count} characters.",
    "Change your address", "Use this address", "Your address has been changed.",
    "Take your former address back", "Take it back",
    "Your former address is back, and all devices are signed out. Your password is still the same: if somebody else made the change, choose a new one.",
    "Take the second sign-in step back", "Take it back",
    "The second sign-in step is gone, and all devices are signed out. Your password is still the same: choose a new one, because whoever added the step could sign in as you.",
    "Sign in", "Open this link on the device and in the app where you asked for it.",
    "Continue", "This link is wrong, was used before or is too old. Please ask for a new one.",
    "This does not work at the moment. Please try again later.",
  ]

  static let german = [
    "Adresse bestätigen", "Bestätigen", "Ihre Adresse ist bestätigt.",
    "Neues Passwort wählen", "Neues Passwort", "Speichern",
    "Ihr neues Passwort ist gespeichert. Sie können sich jetzt damit anmelden.",
    "Dieses Passwort ist zu einfach. Es braucht mindestens {count} Zeichen.",
    "Adresse ändern", "Diese Adresse verwenden", "Ihre Adresse wurde geändert.",
    "Frühere Adresse zurückholen", "Zurückholen",
    "Ihre frühere Adresse gilt wieder, und alle Geräte sind abgemeldet. Ihr Passwort ist noch dasselbe: Wenn jemand anderes die Adresse geändert hat, wählen Sie ein neues.",
    "Zweiten Anmeldeschritt rückgängig machen", "Rückgängig machen",
    "Der zweite Anmeldeschritt ist entfernt, und alle Geräte sind abgemeldet. Ihr Passwort ist noch dasselbe: Wählen Sie ein neues, denn wer den Schritt hinzugefügt hat, konnte sich als Sie anmelden.",
    "Anmelden", "Öffnen Sie diesen Link auf dem Gerät und in der App, wo Sie ihn angefordert haben.",
    "Weiter", "Dieser Link ist falsch, wurde schon benutzt oder ist zu alt. Bitte fordern Sie einen neuen an.",
    "Das geht im Moment nicht. Bitte versuchen Sie es später noch einmal.",
  ]

  static let spanish = [
    "Confirme su dirección", "Confirmar", "Su dirección está confirmada.",
    "Elija una contraseña nueva", "Contraseña nueva", "Guardar",
    "Su contraseña nueva está guardada. Ya puede iniciar sesión con ella.",
    "Esta contraseña es demasiado sencilla. Debe tener al menos {count} caracteres.",
    "Cambie su dirección", "Usar esta dirección", "Su dirección ha cambiado.",
    "Recupere su dirección anterior", "Recuperar",
    "Su dirección anterior vuelve a ser válida y se ha cerrado la sesión en todos los dispositivos. Su contraseña sigue siendo la misma: si el cambio lo hizo otra persona, elija una nueva.",
    "Deshaga el segundo paso de inicio de sesión", "Deshacer",
    "El segundo paso de inicio de sesión se ha eliminado y se ha cerrado la sesión en todos los dispositivos. Su contraseña sigue siendo la misma: elija una nueva, porque quien añadió el paso pudo iniciar sesión en su nombre.",
    "Iniciar sesión", "Abra este enlace en el dispositivo y en la app donde lo solicitó.",
    "Continuar", "Este enlace no es correcto, ya se ha usado o es demasiado antiguo. Solicite uno nuevo.",
    "En este momento no es posible. Inténtelo de nuevo más tarde.",
  ]

  static let french = [
    "Confirmez votre adresse", "Confirmer", "Votre adresse est confirmée.",
    "Choisissez un nouveau mot de passe", "Nouveau mot de passe", "Enregistrer",
    "Votre nouveau mot de passe est enregistré. Vous pouvez maintenant vous connecter.",
    "Ce mot de passe est trop simple. Il doit comporter au moins {count} caractères.",
    "Modifiez votre adresse", "Utiliser cette adresse", "Votre adresse a été modifiée.",
    "Récupérez votre ancienne adresse", "Récupérer",
    "Votre ancienne adresse est rétablie et tous les appareils sont déconnectés. Votre mot de passe n’a pas changé : si quelqu’un d’autre a modifié l’adresse, choisissez-en un nouveau.",
    "Annulez l’ajout de la deuxième étape de connexion", "Annuler l’ajout",
    "La deuxième étape de connexion est supprimée et tous les appareils sont déconnectés. Votre mot de passe n’a pas changé : choisissez-en un nouveau, car la personne qui a ajouté cette étape a pu se connecter à votre place.",
    "Se connecter", "Ouvrez ce lien sur l’appareil et dans l’app où vous l’avez demandé.",
    "Continuer", "Ce lien est incorrect, a déjà été utilisé ou est trop ancien. Veuillez en demander un nouveau.",
    "Ce n’est pas possible pour le moment. Veuillez réessayer plus tard.",
  ]

  static let brazilian = [
    "Confirme seu endereço", "Confirmar", "Seu endereço está confirmado.",
    "Escolha uma nova senha", "Nova senha", "Salvar", "Sua nova senha foi salva. Agora você pode entrar com ela.",
    "Esta senha é simples demais. Ela precisa de pelo menos {count} caracteres.",
    "Altere seu endereço", "Usar este endereço", "Seu endereço foi alterado.",
    "Recupere seu endereço anterior", "Recuperar",
    "Seu endereço anterior voltou a valer, e todos os dispositivos foram desconectados. Sua senha continua a mesma: se outra pessoa fez a alteração, escolha uma nova.",
    "Desfaça a segunda etapa de login", "Desfazer",
    "A segunda etapa de login foi removida, e todos os dispositivos foram desconectados. Sua senha continua a mesma: escolha uma nova, porque quem adicionou a etapa pôde entrar como você.",
    "Entrar", "Abra este link no dispositivo e no app em que você o pediu.",
    "Continuar", "Este link está errado, já foi usado ou é antigo demais. Peça um novo.",
    "Isto não é possível no momento. Tente novamente mais tarde.",
  ]

  static let portuguese = [
    "Confirme o seu endereço", "Confirmar", "O seu endereço está confirmado.",
    "Escolha uma nova palavra-passe", "Nova palavra-passe", "Guardar",
    "A sua nova palavra-passe foi guardada. Já pode iniciar sessão com ela.",
    "Esta palavra-passe é demasiado simples. Precisa de, pelo menos, {count} caracteres.",
    "Altere o seu endereço", "Utilizar este endereço", "O seu endereço foi alterado.",
    "Recupere o seu endereço anterior", "Recuperar",
    "O seu endereço anterior voltou a ser válido e a sessão foi terminada em todos os dispositivos. A sua palavra-passe continua a mesma: se a alteração foi feita por outra pessoa, escolha uma nova.",
    "Anule o segundo passo de início de sessão", "Anular",
    "O segundo passo de início de sessão foi removido e a sessão foi terminada em todos os dispositivos. A sua palavra-passe continua a mesma: escolha uma nova, porque quem adicionou o passo pôde iniciar sessão em seu nome.",
    "Iniciar sessão", "Abra esta ligação no dispositivo e na app onde a pediu.",
    "Continuar", "Esta ligação está errada, já foi utilizada ou é demasiado antiga. Peça uma nova.",
    "De momento não é possível. Tente novamente mais tarde.",
  ]

  static let arabic = [
    "تأكيد عنوانك", "تأكيد", "تم تأكيد عنوانك.",
    "اختيار كلمة مرور جديدة", "كلمة المرور الجديدة", "حفظ", "تم حفظ كلمة المرور الجديدة. يمكنك الآن تسجيل الدخول بها.",
    "كلمة المرور هذه بسيطة جدًا. يجب أن تتكون من {count} من الأحرف على الأقل.",
    "تغيير عنوانك", "استخدام هذا العنوان", "تم تغيير عنوانك.",
    "استعادة عنوانك السابق", "استعادة",
    "تمت استعادة عنوانك السابق وتسجيل الخروج من جميع الأجهزة. لم تتغير كلمة المرور: إذا أجرى شخص آخر التغيير، فاختر كلمة مرور جديدة.",
    "إلغاء الخطوة الثانية لتسجيل الدخول", "إلغاء الإضافة",
    "تمت إزالة الخطوة الثانية وتسجيل الخروج من جميع الأجهزة. لم تتغير كلمة المرور: اختر كلمة مرور جديدة، لأن من أضاف الخطوة كان بإمكانه تسجيل الدخول باسمك.",
    "تسجيل الدخول", "افتح هذا الرابط على الجهاز وفي التطبيق اللذين طلبته منهما.",
    "متابعة", "هذا الرابط غير صحيح أو سبق استخدامه أو قديم جدًا. يرجى طلب رابط جديد.",
    "هذا غير ممكن في الوقت الحالي. يرجى المحاولة لاحقًا.",
  ]

  static let bengali = [
    "আপনার ঠিকানা নিশ্চিত করুন", "নিশ্চিত করুন", "আপনার ঠিকানা নিশ্চিত হয়েছে।",
    "নতুন পাসওয়ার্ড বেছে নিন", "নতুন পাসওয়ার্ড", "সংরক্ষণ করুন",
    "আপনার নতুন পাসওয়ার্ড সংরক্ষিত হয়েছে। এখন এটি দিয়ে সাইন ইন করতে পারবেন।",
    "এই পাসওয়ার্ডটি খুব সহজ। এতে কমপক্ষে {count}টি অক্ষর থাকতে হবে।",
    "আপনার ঠিকানা বদলান", "এই ঠিকানা ব্যবহার করুন", "আপনার ঠিকানা বদলানো হয়েছে।",
    "আপনার আগের ঠিকানা ফিরিয়ে নিন", "ফিরিয়ে নিন",
    "আপনার আগের ঠিকানা ফিরে এসেছে এবং সব ডিভাইস থেকে সাইন আউট হয়েছে। আপনার পাসওয়ার্ড আগের মতোই আছে: অন্য কেউ পরিবর্তনটি করে থাকলে নতুন একটি বেছে নিন।",
    "সাইন ইনের দ্বিতীয় ধাপ বাতিল করুন", "বাতিল করুন",
    "সাইন ইনের দ্বিতীয় ধাপটি সরানো হয়েছে এবং সব ডিভাইস থেকে সাইন আউট হয়েছে। আপনার পাসওয়ার্ড আগের মতোই আছে: নতুন একটি বেছে নিন, কারণ যিনি ধাপটি যোগ করেছিলেন, তিনি আপনার নামে সাইন ইন করতে পারতেন।",
    "সাইন ইন করুন", "যে ডিভাইস ও অ্যাপ থেকে এই লিংক চেয়েছিলেন, সেখানেই এটি খুলুন।",
    "চালিয়ে যান", "এই লিংকটি ভুল, আগে ব্যবহৃত হয়েছে বা খুব পুরোনো। অনুগ্রহ করে নতুন একটি চান।",
    "এই মুহূর্তে এটি সম্ভব নয়। অনুগ্রহ করে পরে আবার চেষ্টা করুন।",
  ]

  static let hindi = [
    "अपना पता पुष्ट करें", "पुष्ट करें", "आपका पता पुष्ट हो गया है।",
    "नया पासवर्ड चुनें", "नया पासवर्ड", "सहेजें", "आपका नया पासवर्ड सहेज लिया गया है। अब आप इससे साइन इन कर सकते हैं।",
    "यह पासवर्ड बहुत सरल है। इसमें कम से कम {count} वर्ण होने चाहिए।",
    "अपना पता बदलें", "इस पते का उपयोग करें", "आपका पता बदल दिया गया है।",
    "अपना पिछला पता वापस लें", "वापस लें",
    "आपका पिछला पता वापस आ गया है, और सभी डिवाइस से साइन आउट कर दिया गया है। आपका पासवर्ड वही है: यदि बदलाव किसी और ने किया था, तो नया पासवर्ड चुनें।",
    "साइन इन का दूसरा चरण हटाएँ", "चरण हटाएँ",
    "साइन इन का दूसरा चरण हटा दिया गया है, और सभी डिवाइस से साइन आउट कर दिया गया है। आपका पासवर्ड वही है: नया पासवर्ड चुनें, क्योंकि जिसने चरण जोड़ा था, वह आपके नाम से साइन इन कर सकता था।",
    "साइन इन करें", "इस लिंक को उसी डिवाइस और ऐप में खोलें, जहाँ आपने इसका अनुरोध किया था।",
    "जारी रखें", "यह लिंक गलत है, पहले उपयोग हो चुका है या बहुत पुराना है। कृपया नए लिंक का अनुरोध करें।",
    "यह अभी संभव नहीं है। कृपया बाद में फिर प्रयास करें।",
  ]

  static let japanese = [
    "メールアドレスの確認", "確認する", "メールアドレスが確認されました。",
    "新しいパスワードの設定", "新しいパスワード", "保存する", "新しいパスワードが保存されました。このパスワードでサインインできます。",
    "このパスワードは簡単すぎます。{count}文字以上にしてください。",
    "メールアドレスの変更", "このアドレスを使用する", "メールアドレスが変更されました。",
    "以前のメールアドレスに戻す", "元に戻す",
    "以前のメールアドレスに戻り、すべての端末からサインアウトされました。パスワードは変更されていません。第三者による変更の場合は、新しいパスワードを設定してください。",
    "2段階目の認証の取り消し", "取り消す",
    "2段階目の認証が削除され、すべての端末からサインアウトされました。パスワードは変更されていません。認証を追加した人はお客様としてサインインできたため、新しいパスワードを設定してください。",
    "サインイン", "このリンクは、リンクを依頼した端末とアプリで開いてください。",
    "続ける", "このリンクは正しくないか、使用済みか、古すぎます。新しいリンクを依頼してください。",
    "現在ご利用いただけません。しばらくしてからもう一度お試しください。",
  ]
}
