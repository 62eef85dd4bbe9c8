// Sets the chosen colours before anything is painted; without a choice those of the system hold.
const theme = localStorage.getItem("commonplace-theme");
if (theme === "light" || theme === "dark") document.documentElement.dataset.theme = theme;
