// Shows the page when all functions are defined.

find("title").textContent = data.title;
find("databases").hidden = !hasSeveralDatabases;
showFilters();
listen();
if (nodes.length > LARGE && hasSeveralDatabases) showDatabases();
else { showOnly(opening()); fit(0.6); }
try {
  const linked = fullNames.indexOf(decodeURIComponent(location.hash.slice(1)));
  if (linked >= 0) select(linked);
} catch { /* the fragment is not a valid URI component */ }
