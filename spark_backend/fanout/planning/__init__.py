"""How many filters become one query: shapes with parameters, probe keys and covers, planned as text."""
