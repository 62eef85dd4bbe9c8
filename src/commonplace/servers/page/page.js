// Gets in with the code in the address, if there is one, and says what the memory holds.
// The key goes with an HttpOnly cookie; both hold until the server ends.

const KEY = "commonplace-key";

async function enter() {
  const code = new URLSearchParams(location.hash.slice(1)).get("code");
  if (!code) return;
  history.replaceState(null, "", "/");
  const response = await fetch("/api/visits", {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify({ code }),
  });
  if (response.ok) localStorage.setItem(KEY, (await response.json()).key);
}

async function ask(path) {
  const key = localStorage.getItem(KEY);
  return fetch(path, { headers: key ? { "X-Commonplace-Key": key } : {} });
}

await enter();
const response = await ask("/api/status");
if (response.ok) {
  const status = await response.json();
  document.getElementById("state").textContent = `${status.workspace}: ${status.notes} notes`;
}
