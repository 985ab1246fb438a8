// Keeps the part of an address behind the # over a login: the link of an invitation has its token there, which no server reads.

for (const form of document.querySelectorAll('form[action="/login"], form[action="/login/code"]')) {
  form.action += location.hash;
}
